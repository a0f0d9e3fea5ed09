// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<2x3x8x8xf32>, %rois: tensor<5x5xf32>, %y: tensor<5x3x2x4xf32>) {
  %r0 = train.roi_align %x, %rois size [2, 4] scale 0.25 ratio 3 aligned : (tensor<2x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x4xf32>
  // CHECK: %r0 = train.roi_align %x, %rois size [2, 4] scale 0.25 ratio 3 aligned : (tensor<2x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x4xf32>
  %r1 = train.roi_align %x, %rois size [2, 2] : (tensor<2x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  // CHECK: %r1 = train.roi_align %x, %rois size [2, 2] : (tensor<2x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  %r2 = train.roi_align_grad %y, %rois size [2, 4] scale 0.25 aligned : (tensor<5x3x2x4xf32>, tensor<5x5xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: %r2 = train.roi_align_grad %y, %rois size [2, 4] scale 0.25 aligned : (tensor<5x3x2x4xf32>, tensor<5x5xf32>) -> tensor<2x3x8x8xf32>
  func.return
}
