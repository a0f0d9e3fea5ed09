// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<4x3x3xf32>) {
  %r = train.conv1d %a, %b : (tensor<2x3x8x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x6xf32>
  // CHECK: input and weight must have rank 3, got 2x3x8x8 and 4x3x3
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<4x3x3xf32>) {
  %r = train.conv1d %a, %b stride [1, 1] : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x6xf32>
  // CHECK: stride is [1, 1], expected one integer of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<4x3x3xf32>) {
  %r = train.conv1d %a, %b padding [1, 1, 1, 1] : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x6xf32>
  // CHECK: padding is [1, 1, 1, 1], expected [left, right] of at least 0
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<4x3x3xf32>) {
  %r = train.conv1d %a, %b dilation [4] : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x1xf32>
  // CHECK: a window of 3 does not fit into 8 with padding [0, 0] and dilation [4]
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<4x1x3xf32>) {
  %r = train.conv1d %a, %b groups 3 : (tensor<2x3x8xf32>, tensor<4x1x3xf32>) -> tensor<2x4x6xf32>
  // CHECK: groups is 3, expected a divisor of 3 input and 4 output channels
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<4x3x3xf32>) {
  %r = train.conv1d %a, %b : (tensor<2x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x7xf32>
  // CHECK: expected result tensor<2x4x6xf32>, got tensor<2x4x7xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4x5xf32>, %b: tensor<4x3x3xf32>) {
  %r = train.conv1d_dx %a, %b : (tensor<2x4x5xf32>, tensor<4x3x3xf32>) -> tensor<2x3x8xf32>
  // CHECK: dy is 2x4x5, the convolution's output is 2x4x6
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<2x4x5xf32>) {
  %r = train.conv1d_dw %a, %b : (tensor<2x3x8xf32>, tensor<2x4x5xf32>) -> tensor<4x3x3xf32>
  // CHECK: dy is 2x4x5, the convolution's output is 2x4x6
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8x8xf32>, %b: tensor<4x3x3x3x3xf32>) {
  %r = train.conv3d %a, %b stride [1, 0, 1] : (tensor<2x3x8x8x8xf32>, tensor<4x3x3x3x3xf32>) -> tensor<2x4x6x6x6xf32>
  // CHECK: stride is [1, 0, 1], expected three integers of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8x8xf32>, %b: tensor<4x3x3x3x3xf32>) {
  %r = train.conv3d %a, %b padding [1, 1] : (tensor<2x3x8x8x8xf32>, tensor<4x3x3x3x3xf32>) -> tensor<2x4x6x6x6xf32>
  // CHECK: padding is [1, 1], expected [front, back, top, bottom, left, right] of at least 0
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x2x8xf32>, %b: tensor<4x3x3x3x3xf32>) {
  %r = train.conv3d %a, %b : (tensor<2x3x8x2x8xf32>, tensor<4x3x3x3x3xf32>) -> tensor<2x4x6x1x6xf32>
  // CHECK: a 3x3x3 window does not fit into 8x2x8 with padding [0, 0, 0, 0, 0, 0] and dilation [1, 1, 1]
  func.return
}
