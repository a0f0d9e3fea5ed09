// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<2x3x8xf32>, %g: tensor<2x4x1xf32>) {
  %r = train.grid_sample %x, %g : (tensor<2x3x8xf32>, tensor<2x4x1xf32>) -> tensor<2x3x4xf32>
  // CHECK: x is 2x3x8, expected two or three axes behind batch and channels
  func.return
}

// -----

func.func @f(%x: tensor<2x3x8x8xf32>, %g: tensor<1x4x5x2xf32>) {
  %r = train.grid_sample %x, %g : (tensor<2x3x8x8xf32>, tensor<1x4x5x2xf32>) -> tensor<2x3x4x5xf32>
  // CHECK: the grid is 1x4x5x2, expected [2, …, …, 2]: a place for each sample
  func.return
}

// -----

func.func @f(%x: tensor<2x3x8x8xf32>, %g: tensor<2x4x5x2xf32>) {
  %r = train.grid_sample %x, %g mode "area" : (tensor<2x3x8x8xf32>, tensor<2x4x5x2xf32>) -> tensor<2x3x4x5xf32>
  // CHECK: mode is area, padding zeros, expected a mode of bilinear, nearest, bicubic
  func.return
}

// -----

func.func @f(%x: tensor<2x3x2x8x8xf32>, %g: tensor<2x2x4x5x3xf32>) {
  %r = train.grid_sample %x, %g mode "bicubic" : (tensor<2x3x2x8x8xf32>, tensor<2x2x4x5x3xf32>) -> tensor<2x3x2x4x5xf32>
  // CHECK: mode is bicubic, expected bilinear or nearest for three axes
  func.return
}
