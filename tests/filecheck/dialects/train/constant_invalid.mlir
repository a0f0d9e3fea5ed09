// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f() {
  %r = train.arange : () -> tensor<4x2xf32>
  // CHECK: the result is 4x2, expected a vector
  func.return
}

// -----

func.func @f() {
  %r = train.integers values [1, 2] : () -> tensor<2xf32>
  // CHECK: the result has element type f32, expected integers
  func.return
}

// -----

func.func @f() {
  %r = train.integers values [1, 2] : () -> tensor<3xi32>
  // CHECK: expected result tensor<2xi32>, got tensor<3xi32>
  func.return
}

// -----

func.func @f() {
  %r = train.causal_mask : () -> tensor<3xi1>
  // CHECK: the result is 3, expected a matrix
  func.return
}

// -----

func.func @f() {
  %r = train.causal_mask : () -> tensor<3x3xf32>
  // CHECK: expected result tensor<3x3xi1>, got tensor<3x3xf32>
  func.return
}
