// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<1x2x4xf32>, %v: tensor<1x2x4x6xf32>, %u: tensor<1x2x2x4x6xf32>) {
  %r0 = train.resize %x size [8] scales [0.0] : (tensor<1x2x4xf32>) -> tensor<1x2x8xf32>
  // CHECK: %r0 = train.resize %x size [8] scales [0.0] : (tensor<1x2x4xf32>) -> tensor<1x2x8xf32>
  %r1 = train.resize_grad %r0 scales [0.0] : (tensor<1x2x8xf32>) -> tensor<1x2x4xf32>
  // CHECK: %r1 = train.resize_grad %r0 scales [0.0] : (tensor<1x2x8xf32>) -> tensor<1x2x4xf32>
  %r2 = train.resize %v size [3, 5] scales [0.75, 0.9] cubic antialias : (tensor<1x2x4x6xf32>) -> tensor<1x2x3x5xf32>
  // CHECK: %r2 = train.resize %v size [3, 5] scales [0.75, 0.9] cubic antialias : (tensor<1x2x4x6xf32>) -> tensor<1x2x3x5xf32>
  %r3 = train.resize_grad %r2 scales [0.75, 0.9] cubic antialias : (tensor<1x2x3x5xf32>) -> tensor<1x2x4x6xf32>
  // CHECK: %r3 = train.resize_grad %r2 scales [0.75, 0.9] cubic antialias : (tensor<1x2x3x5xf32>) -> tensor<1x2x4x6xf32>
  %r4 = train.resize %u size [3, 5, 7] scales [0.0, 0.0, 0.0] corners : (tensor<1x2x2x4x6xf32>) -> tensor<1x2x3x5x7xf32>
  // CHECK: %r4 = train.resize %u size [3, 5, 7] scales [0.0, 0.0, 0.0] corners : (tensor<1x2x2x4x6xf32>) -> tensor<1x2x3x5x7xf32>
  %r5 = train.upsample_nearest %v size [3, 5] exact : (tensor<1x2x4x6xf32>) -> tensor<1x2x3x5xf32>
  // CHECK: %r5 = train.upsample_nearest %v size [3, 5] exact : (tensor<1x2x4x6xf32>) -> tensor<1x2x3x5xf32>
  %r6 = train.upsample_nearest_grad %r5 exact : (tensor<1x2x3x5xf32>) -> tensor<1x2x4x6xf32>
  // CHECK: %r6 = train.upsample_nearest_grad %r5 exact : (tensor<1x2x3x5xf32>) -> tensor<1x2x4x6xf32>
  func.return
}
