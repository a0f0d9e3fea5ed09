// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x6xf32>, %i: tensor<2x1xi32>) {
  %r = train.index %x, %i axes [-1] : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  // CHECK: axes is [-1], expected for each axis of 4x6 another of 2x6, or -1
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %i: tensor<2x1xi32>) {
  %r = train.index %x, %i axes [-1, 2] : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  // CHECK: axes is [-1, 2], expected for each axis of 4x6 another of 2x6, or -1
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %i: tensor<2x1xi32>) {
  %r = train.index %x, %i axes [-1, -1] : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  // CHECK: axes is [-1, -1], expected -1 as often as there are indices: 1
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %i: tensor<2x1xf32>) {
  %r = train.index %x, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<2x1xf32>) -> tensor<2x6xf32>
  // CHECK: the indices have element type f32, expected i32 or i64
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %i: tensor<2x3xi32>) {
  %r = train.index %x, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<2x3xi32>) -> tensor<2x6xf32>
  // CHECK: the index is 2x3, which does not broadcast to [2, 6]
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %i: tensor<2x1xi32>) {
  %r = train.index %x, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x7xf32>
  // CHECK: axis 1: 7 elements are picked of 6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %i: tensor<1x1xi32>) {
  %r = train.index %x, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<1x1xi32>) -> tensor<2x6xf32>
  // CHECK: axis 0 of [2, 6] is neither an axis of x nor one of an index
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %s: tensor<2x6xf64>, %i: tensor<2x1xi32>) {
  %r = train.index_put %x, %s, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<2x6xf64>, tensor<2x1xi32>) -> tensor<4x6xf32>
  // CHECK: element types differ: f32 and f64
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %i: tensor<2x1xi32>) {
  %r = train.index_put_dsrc %x, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x7xf32>
  // CHECK: axis 1: 7 elements are picked of 6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %s: tensor<2x6xf32>, %i: tensor<2x1xi32>) {
  %r = train.index_reduce %x, %s, %i axes [-1, 1] reduce "mean" : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
  // CHECK: reduce is 'mean', expected one of add, mul, max, min
  func.return
}

// -----

func.func @f(%x: tensor<4x6xi1>, %s: tensor<2x6xi1>, %i: tensor<2x1xi32>) {
  %r = train.index_reduce %x, %s, %i axes [-1, 1] reduce "add" : (tensor<4x6xi1>, tensor<2x6xi1>, tensor<2x1xi32>) -> tensor<4x6xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %s: tensor<2x6xf32>, %i: tensor<2x1xi32>) {
  %r = train.index_reduce_dx %x, %x, %s, %i axes [-1, 1] reduce "add" : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
  // CHECK: reduce is 'add', expected one of mul, max, min
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %s: tensor<2x6xf32>, %i: tensor<2x1xi32>) {
  %r = train.index_reduce_dsrc %s, %x, %s, %i axes [-1, 1] reduce "mul" : (tensor<2x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  // CHECK: dy is tensor<2x6xf32>, expected tensor<4x6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %s: tensor<4x2xf32>) {
  %r = train.slice_put %x, %s starts [0, 3] steps [1, 3] : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
  // CHECK: axis 1: 3 to 7 lies outside 0 to 6
  func.return
}
