// RUN: npuc opt %s | filecheck %s

// Extremes and their places: the text that prints is the text that was read.

func.func @operations(%x: tensor<2x3x4xf32>, %y: tensor<1x3x1xf32>) {
  %r0 = train.amax %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  // CHECK: %r0 = train.amax %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  %r1 = train.amin %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  // CHECK: %r1 = train.amin %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  %r2 = train.extreme_grad %y, %x, %r1 : (tensor<1x3x1xf32>, tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r2 = train.extreme_grad %y, %x, %r1 : (tensor<1x3x1xf32>, tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
  %r3 = train.argmax %x axis 1 : (tensor<2x3x4xf32>) -> tensor<2x1x4xi32>
  // CHECK: %r3 = train.argmax %x axis 1 : (tensor<2x3x4xf32>) -> tensor<2x1x4xi32>
  %r4 = train.argmin %x axis -1 : (tensor<2x3x4xf32>) -> tensor<2x3x1xi32>
  // CHECK: %r4 = train.argmin %x axis -1 : (tensor<2x3x4xf32>) -> tensor<2x3x1xi32>
  func.return
}
