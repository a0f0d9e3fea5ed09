// RUN: npuc opt %s | filecheck %s

// DropBack: the text that prints is the text that was read.

func.func @operations(%a: tensor<2x3xf32>, %h: tensor<f32>, %step: tensor<i64>) {
  %r0, %a0 = train.dropback %a, %a, %a, %step lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r0, %a0 = train.dropback %a, %a, %a, %step lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %r1, %v1, %a1, %h1 = train.dropback %a, %a, %a, %a, %h, %step lr 0.1 momentum 0.5 keep 0.25 decay 0.9 quantile rate 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>)
  // CHECK: %r1, %v1, %a1, %h1 = train.dropback %a, %a, %a, %a, %h, %step lr 0.1 momentum 0.5 keep 0.25 decay 0.9 quantile rate 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>)
  %r2 = train.dropback %a, %a, %step lr 0.1 regenerate seed 3.0 start "w" bound 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.dropback %a, %a, %step lr 0.1 regenerate seed 3.0 start "w" bound 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  %r3 = train.dropback %a, %a, %step lr 0.1 regenerate start "b" fill 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: %r3 = train.dropback %a, %a, %step lr 0.1 regenerate start "b" fill 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  func.return
}
