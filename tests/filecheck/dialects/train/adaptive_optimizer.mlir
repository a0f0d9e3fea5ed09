// RUN: npuc opt %s | filecheck %s

// Optimizer updates with a step for each element: the text that prints is the text that was read.

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %step: tensor<i64>) {
  %r0, %a0 = train.rmsprop %a, %b, %a lr 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r0, %a0 = train.rmsprop %a, %b, %a lr 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %r1, %a1, %b1, %c1 = train.rmsprop %a, %b, %a, %b, %a alpha 0.5 eps 1.0e-06 momentum 0.9 centered lr 0.01 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r1, %a1, %b1, %c1 = train.rmsprop %a, %b, %a, %b, %a alpha 0.5 eps 1.0e-06 momentum 0.9 centered lr 0.01 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r2, %a2 = train.adagrad %a, %b, %a lr 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r2, %a2 = train.adagrad %a, %b, %a lr 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %r3, %a3 = train.adagrad %a, %b, %a, %step lr_decay 0.1 eps 0.001 lr 0.01 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r3, %a3 = train.adagrad %a, %b, %a, %step lr_decay 0.1 eps 0.001 lr 0.01 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %r4, %a4, %b4 = train.adadelta %a, %b, %a, %b rho 0.5 eps 1.0e-05 lr 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r4, %a4, %b4 = train.adadelta %a, %b, %a, %b rho 0.5 eps 1.0e-05 lr 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r5, %a5, %b5 = train.adamax %a, %b, %a, %b, %step beta1 0.5 beta2 0.75 eps 0.001 lr 0.002 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r5, %a5, %b5 = train.adamax %a, %b, %a, %b, %step beta1 0.5 beta2 0.75 eps 0.001 lr 0.002 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r6, %a6, %b6 = train.nadam %a, %b, %a, %b, %step momentum_decay 0.5 decoupled_weight_decay beta1 0.5 lr 0.002 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r6, %a6, %b6 = train.nadam %a, %b, %a, %b, %step momentum_decay 0.5 decoupled_weight_decay beta1 0.5 lr 0.002 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r7, %a7, %b7 = train.lamb %a, %b, %a, %b, %step beta2 0.5 lr 0.002 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r7, %a7, %b7 = train.lamb %a, %b, %a, %b, %step beta2 0.5 lr 0.002 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r8, %a8 = train.lion %a, %b, %a beta1 0.5 beta2 0.75 lr 0.002 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r8, %a8 = train.lion %a, %b, %a beta1 0.5 beta2 0.75 lr 0.002 weight_decay 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  func.return
}
