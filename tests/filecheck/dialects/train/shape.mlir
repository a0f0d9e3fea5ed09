// RUN: npuc opt %s | filecheck %s

// Other shapes: the text that prints is the text that was read.

func.func @operations(%a: tensor<2x3xf32>, %s: tensor<3x1xf32>, %z: tensor<f32>) {
  %r0 = train.expand %s : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r0 = train.expand %s : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  %r1 = train.expand %z : (tensor<f32>) -> tensor<2xf32>
  // CHECK: %r1 = train.expand %z : (tensor<f32>) -> tensor<2xf32>
  %r2 = train.reshape %a : (tensor<2x3xf32>) -> tensor<1x6x1xf32>
  // CHECK: %r2 = train.reshape %a : (tensor<2x3xf32>) -> tensor<1x6x1xf32>
  %r3 = train.transpose %a axes [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: %r3 = train.transpose %a axes [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r4 = train.detach %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r4 = train.detach %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
