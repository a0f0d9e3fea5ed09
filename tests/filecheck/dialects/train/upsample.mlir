// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<1x2x3x4xf32>, %y: tensor<1x2x6x8xf32>, %z: tensor<1x2x4x6xf32>) {
  %r0 = train.upsample_nearest %x size [6, 8] : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  // CHECK: %r0 = train.upsample_nearest %x size [6, 8] : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  %r1 = train.upsample_nearest_grad %z scale_h 1.5 scale_w 1.6 : (tensor<1x2x4x6xf32>) -> tensor<1x2x3x4xf32>
  // CHECK: %r1 = train.upsample_nearest_grad %z scale_h 1.5 scale_w 1.6 : (tensor<1x2x4x6xf32>) -> tensor<1x2x3x4xf32>
  %r2 = train.upsample_bilinear %x size [6, 8] corners : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  // CHECK: %r2 = train.upsample_bilinear %x size [6, 8] corners : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
  %r3 = train.upsample_bilinear %x size [4, 6] scale_h 1.5 scale_w 1.6 : (tensor<1x2x3x4xf32>) -> tensor<1x2x4x6xf32>
  // CHECK: %r3 = train.upsample_bilinear %x size [4, 6] scale_h 1.5 scale_w 1.6 : (tensor<1x2x3x4xf32>) -> tensor<1x2x4x6xf32>
  %r4 = train.upsample_bilinear_grad %y corners : (tensor<1x2x6x8xf32>) -> tensor<1x2x3x4xf32>
  // CHECK: %r4 = train.upsample_bilinear_grad %y corners : (tensor<1x2x6x8xf32>) -> tensor<1x2x3x4xf32>
  func.return
}
