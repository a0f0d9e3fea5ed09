// RUN: npuc opt %s | filecheck %s

// Losses between a prediction and a target: the text that prints is the text that was read.

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  %r0 = train.mse %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: %r0 = train.mse %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %r1 = train.mse_grad %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r1 = train.mse_grad %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = train.l1_loss %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: %r2 = train.l1_loss %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %r3 = train.l1_loss_grad %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r3 = train.l1_loss_grad %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r4 = train.smooth_l1_loss %a, %b beta 0.5 reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: %r4 = train.smooth_l1_loss %a, %b beta 0.5 reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %r5 = train.smooth_l1_loss_grad %a, %b beta 0.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r5 = train.smooth_l1_loss_grad %a, %b beta 0.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r6 = train.huber_loss %a, %b delta 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: %r6 = train.huber_loss %a, %b delta 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %r7 = train.huber_loss_grad %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r7 = train.huber_loss_grad %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
