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
  // CHECK: the result is 3, found 2 values
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

// -----

func.func @f() {
  %r = train.integers values [1, 2] : () -> tensor<3xi32>
  // CHECK: the result is 3, found 2 values
  func.return
}

// -----

func.func @f() {
  %r = train.integers values [1, 200] : () -> tensor<2xi8>
  // CHECK: found 200, expected integers from -128 to 127 for i8
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
  %r = train.numbers values [1.0, 2.0] : () -> tensor<2xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f() {
  %r = train.numbers values [1.0] : () -> tensor<2x2xf32>
  // CHECK: the result is 2x2, found 1 values
  func.return
}
