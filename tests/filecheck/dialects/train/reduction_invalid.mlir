// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.prod %x axes [1, 0] : (tensor<4x6xf32>) -> tensor<1x1xf32>
  // CHECK: axes is [1, 0], expected ascending axes of 4x6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.prod %x axes [2] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: axes is [2], expected ascending axes of 4x6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.var %x axes [1] : (tensor<4x6xf32>) -> tensor<4xf32>
  // CHECK: expected result tensor<4x1xf32>, got tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.var_grad %x, %x axes [1] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: dy is tensor<4x6xf32>, expected tensor<4x1xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.cumsum %x axis 2 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: axis is 2, expected -2 to 1 for 4x6
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.vector_norm %a axes [0] order 0.0 : (tensor<2x3xf32>) -> tensor<1x3xf32>
  // CHECK: order is 0.0, expected a number above 0
  func.return
}
