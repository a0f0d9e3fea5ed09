// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<1x1x7x7xf32>) {
  %r = train.max_pool %a kernel [2, 2] stride [2, 2] : (tensor<1x1x7x7xf32>) -> tensor<1x1x4x4xf32>
  // CHECK: expected result tensor<1x1x3x3xf32>, got tensor<1x1x4x4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<1x1x3x3xf32>) {
  %r = train.max_pool %a kernel [2, 2] dilation [3, 1] : (tensor<1x1x3x3xf32>) -> tensor<1x1x1x2xf32>
  // CHECK: a 4x2 window does not fit into 3x3 with padding [0, 0, 0, 0]
  func.return
}

// -----

func.func @f(%a: tensor<1x1x1x1xf32>) {
  %r = train.max_pool %a kernel [2, 1] padding [2, 2, 0, 0] dilation [3, 1] : (tensor<1x1x1x1xf32>) -> tensor<1x1x2x1xf32>
  // CHECK: a window with dilation 3 holds only padding of the 1 positions
  func.return
}

// -----

func.func @f(%a: tensor<1x1x4x4xf32>) {
  %r = train.max_pool %a kernel [2, 2] dilation [0, 1] : (tensor<1x1x4x4xf32>) -> tensor<1x1x4x3xf32>
  // CHECK: dilation is [0, 1], expected two integers of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<1x1x3x3xf32>, %b: tensor<1x1x7x7xf32>) {
  %r = train.max_pool_grad %a, %b kernel [2, 2] stride [2, 2] ceil : (tensor<1x1x3x3xf32>, tensor<1x1x7x7xf32>) -> tensor<1x1x7x7xf32>
  // CHECK: dy is 1x1x3x3, the pooling's output is 1x1x4x4
  func.return
}

// -----

func.func @f(%a: tensor<1x1x7x7xi1>) {
  %r = train.max_pool %a kernel [2, 2] : (tensor<1x1x7x7xi1>) -> tensor<1x1x6x6xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<1x1x7x7xi32>) {
  %r = train.avg_pool %a kernel [2, 2] : (tensor<1x1x7x7xi32>) -> tensor<1x1x6x6xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}
