// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<5x5xf32>) {
  %r = train.roi_align %a, %b size [2, 2] : (tensor<2x3x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  // CHECK: the input must be [batch, channels, height, width], got 2x3x8
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<5x4xf32>) {
  %r = train.roi_align %a, %b size [2, 2] : (tensor<2x3x8x8xf32>, tensor<5x4xf32>) -> tensor<5x3x2x2xf32>
  // CHECK: the regions must be [regions, 5], got 5x4
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<5x5xf32>) {
  %r = train.roi_align %a, %b size [2] : (tensor<2x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  // CHECK: size is [2], expected two integers of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<5x5xf32>) {
  %r = train.roi_align %a, %b size [2, 2] ratio 0 : (tensor<2x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  // CHECK: ratio is 0, expected at least 1
  func.return
}

// -----

func.func @f(%a: tensor<4x3x2x2xf32>, %b: tensor<5x5xf32>) {
  %r = train.roi_align_grad %a, %b size [2, 2] : (tensor<4x3x2x2xf32>, tensor<5x5xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: dy is 4x3x2x2, the pooled regions are 5x3x2x2
  func.return
}
