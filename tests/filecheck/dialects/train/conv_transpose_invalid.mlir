// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<3x4x3x3xf32>) {
  %r = train.conv_transpose2d %a, %b : (tensor<2x3x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x10x10xf32>
  // CHECK: input and weight must have rank 4, got 2x3x8 and 3x4x3x3
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<3x4x3x3xf32>) {
  %r = train.conv_transpose2d %a, %b stride [2] : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x10x10xf32>
  // CHECK: stride is [2], expected two integers of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = train.conv_transpose2d %a, %b : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x10x10xf32>
  // CHECK: the input has 3 channels, the weight 4x3x3x3 reads 4
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<3x4x3x3xf32>) {
  %r = train.conv_transpose2d %a, %b groups 2 : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x8x10x10xf32>
  // CHECK: groups is 2, expected a divisor of 3 input channels
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<3x4x3x3xf32>) {
  %r = train.conv_transpose2d %a, %b : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x10x11xf32>
  // CHECK: the result is 2x4x10x11, the transposed convolution's output is 2x4x10x10
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<3x4x3x3xf32>) {
  %r = train.conv_transpose2d %a, %b stride [2, 1] : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x5x17x10xf32>
  // CHECK: the result is 2x5x17x10, the transposed convolution's output is 2x4x(17 to 18)x10
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<3x4x3x3xf32>) {
  %r = train.conv_transpose2d %a, %b stride [2, 1] : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x19x10xf32>
  // CHECK: the result is 2x4x19x10, the transposed convolution's output is 2x4x(17 to 18)x10
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<3x4x3x3xf32>) {
  %r = train.conv_transpose2d %a, %b : (tensor<2x3x8x8xf32>, tensor<3x4x3x3xf32>) -> tensor<2x4x10xf32>
  // CHECK: the result is 2x4x10, the transposed convolution's output is 2x4x10x10
  func.return
}

// -----

func.func @f(%a: tensor<2x4x19xf32>, %b: tensor<3x4x3xf32>) {
  %r = train.conv_transpose1d_dx %a, %b stride [2] : (tensor<2x4x19xf32>, tensor<3x4x3xf32>) -> tensor<2x3x8xf32>
  // CHECK: dy is 2x4x19, the transposed convolution's output is 2x4x(17 to 18)
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<2x4x19xf32>) {
  %r = train.conv_transpose1d_dw %a, %b stride [2] : (tensor<2x3x8xf32>, tensor<2x4x19xf32>) -> tensor<3x4x3xf32>
  // CHECK: dy is 2x4x19, the transposed convolution's output is 2x4x(17 to 18)
  func.return
}

// -----

func.func @f(%a: tensor<2x4x3x5x3xf32>, %b: tensor<4x6x2x3x2xf32>) {
  %r = train.conv_transpose3d %a, %b : (tensor<2x4x3x5x3xf32>, tensor<4x6x2x3x2xf32>) -> tensor<2x6x6x9x6xf32>
  // CHECK: the result is 2x6x6x9x6, the transposed convolution's output is 2x6x4x7x4
  func.return
}
