// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x6xf32>, %v: tensor<3xf32>) {
  %r = train.index_select %x, %v axis 0 : (tensor<4x6xf32>, tensor<3xf32>) -> tensor<3x6xf32>
  // CHECK: the indices have element type f32, expected i32 or i64
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %v: tensor<3x1xi32>) {
  %r = train.index_select %x, %v axis 0 : (tensor<4x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
  // CHECK: the index is 3x1, expected a vector
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %v: tensor<3xi32>) {
  %r = train.index_select_dx %x, %v axis 0 : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<5x6xf32>
  // CHECK: dy is 4x6, the lookup's output is 3x6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %v: tensor<3xi32>) {
  %r = train.gather %x, %v axis 0 : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<3xf32>
  // CHECK: x is 4x6, the index is 3: expected equal ranks
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %v: tensor<9x7xi32>) {
  %r = train.gather %x, %v axis 0 : (tensor<4x6xf32>, tensor<9x7xi32>) -> tensor<9x7xf32>
  // CHECK: axis 1: the index has size 7, x only 6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %v: tensor<1x6xi32>) {
  %r = train.gather_dx %x, %v axis 0 : (tensor<4x6xf32>, tensor<1x6xi32>) -> tensor<4x6xf32>
  // CHECK: dy is 4x6, the lookup's output is 1x6
  func.return
}

// -----

func.func @f(%m: tensor<3xi1>) {
  %r = train.one_hot %m : (tensor<3xi1>) -> tensor<3x2xf32>
  // CHECK: the indices have element type bool, expected i32 or i64
  func.return
}

// -----

func.func @f(%m: tensor<3xi32>) {
  %r = train.one_hot %m : (tensor<3xi32>) -> tensor<2x3xf32>
  // CHECK: indices 3 and result 2x3 differ before the last axis
  func.return
}
