// RUN: npuc opt %s | filecheck %s

// Orders and triangles: the text that prints is the text that was read.

func.func @operations(%x: tensor<2x3x4xf32>) {
  %r0 = train.flip %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r0 = train.flip %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r1 = train.roll %x axes [1, 0] shifts [2, -1] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r1 = train.roll %x axes [1, 0] shifts [2, -1] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r2 = train.triangle %x diagonal -1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r2 = train.triangle %x diagonal -1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r3 = train.triangle %x upper : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r3 = train.triangle %x upper : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return
}
