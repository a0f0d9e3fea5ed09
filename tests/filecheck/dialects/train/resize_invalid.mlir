// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<2x4xf32>) {
  %r = train.resize %x size [8] scales [0.0] : (tensor<2x4xf32>) -> tensor<2x8xf32>
  // CHECK: x is 2x4, expected one to three axes behind batch and channels
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4xf32>) {
  %r = train.resize %x size [8] scales [-1.0] : (tensor<1x2x4xf32>) -> tensor<1x2x8xf32>
  // CHECK: expected a number of at least 0 for each of 1 axes
  func.return
}

// -----

func.func @f(%x: tensor<1x2x4xi32>) {
  %r = train.resize %x size [8] scales [0.0] : (tensor<1x2x4xi32>) -> tensor<1x2x8xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%x: tensor<1x2x8xf32>) {
  %r = train.resize_grad %x scales [0.0] : (tensor<1x2x8xf32>) -> tensor<1x3x4xf32>
  // CHECK: dy is 1x2x8, the resized tensor is 1x3x8
  func.return
}
