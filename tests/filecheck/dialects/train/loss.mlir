// RUN: npuc opt %s | filecheck %s

// Losses of classes: the text that prints is the text that was read.

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %l: tensor<2xi32>) {
  %r0 = train.cross_entropy %a, %l label_smoothing 0.1 ignore_index -100 reduction "sum" : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  // CHECK: %r0 = train.cross_entropy %a, %l label_smoothing 0.1 ignore_index -100 reduction "sum" : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  %r1 = train.cross_entropy %a, %l label_smoothing 1.0 : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  // CHECK: %r1 = train.cross_entropy %a, %l label_smoothing 1.0 : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  %r2 = train.cross_entropy_grad %a, %l label_smoothing 0.1 ignore_index 0 reduction "sum" : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.cross_entropy_grad %a, %l label_smoothing 0.1 ignore_index 0 reduction "sum" : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  %r3 = train.nll_loss %a, %l : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  // CHECK: %r3 = train.nll_loss %a, %l : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  %r4 = train.nll_loss %a, %l ignore_index 255 reduction "sum" {layer = "l"} : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  // CHECK: %r4 = train.nll_loss %a, %l ignore_index 255 reduction "sum" {layer = "l"} : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  %r5 = train.nll_loss_grad %l : (tensor<2xi32>) -> tensor<2x3xf32>
  // CHECK: %r5 = train.nll_loss_grad %l : (tensor<2xi32>) -> tensor<2x3xf32>
  %r6 = train.nll_loss_grad %l ignore_index 255 reduction "sum" : (tensor<2xi32>) -> tensor<2x3xf32>
  // CHECK: %r6 = train.nll_loss_grad %l ignore_index 255 reduction "sum" : (tensor<2xi32>) -> tensor<2x3xf32>
  func.return
}
