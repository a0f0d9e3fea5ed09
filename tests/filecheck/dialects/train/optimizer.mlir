// RUN: npuc opt %s | filecheck %s

// Options of sgd, adam and adamw: the text that prints is the text that was read.

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %step: tensor<i64>) {
  %r0, %a0 = train.sgd %a, %b, %a lr 0.1 momentum 0.9 nesterov : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r0, %a0 = train.sgd %a, %b, %a lr 0.1 momentum 0.9 nesterov : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %r1, %a1 = train.sgd %a, %b, %a, %step lr 0.1 momentum 0.9 weight_decay 0.01 dampening 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r1, %a1 = train.sgd %a, %b, %a, %step lr 0.1 momentum 0.9 weight_decay 0.01 dampening 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %r2 = train.sgd %a, %b lr 0.1 dampening 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.sgd %a, %b lr 0.1 dampening 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3, %a3, %b3, %c3 = train.adam %a, %b, %a, %a, %b, %step lr 0.1 amsgrad {layer = "w", role = "update"} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r3, %a3, %b3, %c3 = train.adam %a, %b, %a, %a, %b, %step lr 0.1 amsgrad {layer = "w", role = "update"} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r4, %a4, %b4, %c4 = train.adamw %a, %b, %a, %a, %b, %step lr 0.1 beta1 0.5 weight_decay 0.01 amsgrad : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r4, %a4, %b4, %c4 = train.adamw %a, %b, %a, %a, %b, %step lr 0.1 beta1 0.5 weight_decay 0.01 amsgrad : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  func.return
}
