// RUN: npuc opt %s | filecheck %s

// Indexing and scattering: the text that prints is the text that was read.

func.func @operations(%x: tensor<4x6xf32>, %s: tensor<2x6xf32>, %i: tensor<2x1xi32>, %j: tensor<2x6xi64>, %b: tensor<4x2xf32>) {
  %r0 = train.index %x, %i, %j axes [-1, -1] negative : (tensor<4x6xf32>, tensor<2x1xi32>, tensor<2x6xi64>) -> tensor<2x6xf32>
  // CHECK: %r0 = train.index %x, %i, %j axes [-1, -1] negative : (tensor<4x6xf32>, tensor<2x1xi32>, tensor<2x6xi64>) -> tensor<2x6xf32>
  %r1 = train.index_put %x, %s, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
  // CHECK: %r1 = train.index_put %x, %s, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
  %r2 = train.index_put_dsrc %x, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  // CHECK: %r2 = train.index_put_dsrc %x, %i axes [-1, 1] : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  %r3 = train.index_reduce %x, %s, %i axes [-1, 1] reduce "add" : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
  // CHECK: %r3 = train.index_reduce %x, %s, %i axes [-1, 1] reduce "add" : (tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
  %r4 = train.index_reduce_dx %x, %x, %s, %i axes [-1, 1] reduce "max" negative : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
  // CHECK: %r4 = train.index_reduce_dx %x, %x, %s, %i axes [-1, 1] reduce "max" negative : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<4x6xf32>
  %r5 = train.index_reduce_dsrc %x, %x, %s, %i axes [-1, 1] reduce "mul" : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  // CHECK: %r5 = train.index_reduce_dsrc %x, %x, %s, %i axes [-1, 1] reduce "mul" : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  %r6 = train.slice_put %x, %b starts [0, 1] steps [1, 3] : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
  // CHECK: %r6 = train.slice_put %x, %b starts [0, 1] steps [1, 3] : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
  func.return
}
