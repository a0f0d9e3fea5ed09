// RUN: npuc opt %s | filecheck %s

// Lookups: the text that prints is the text that was read.

func.func @operations(%x: tensor<4x6xf32>, %v: tensor<3xi32>, %i: tensor<4x2xi64>, %y: tensor<4x3xf32>, %g: tensor<4x2xf32>) {
  %r0 = train.index_select %x, %v axis 1 : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<4x3xf32>
  // CHECK: %r0 = train.index_select %x, %v axis 1 : (tensor<4x6xf32>, tensor<3xi32>) -> tensor<4x3xf32>
  %r1 = train.index_select_dx %y, %v axis 1 : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<4x6xf32>
  // CHECK: %r1 = train.index_select_dx %y, %v axis 1 : (tensor<4x3xf32>, tensor<3xi32>) -> tensor<4x6xf32>
  %r2 = train.gather %x, %i axis 1 : (tensor<4x6xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  // CHECK: %r2 = train.gather %x, %i axis 1 : (tensor<4x6xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  %r3 = train.gather_dx %g, %i axis 1 : (tensor<4x2xf32>, tensor<4x2xi64>) -> tensor<4x6xf32>
  // CHECK: %r3 = train.gather_dx %g, %i axis 1 : (tensor<4x2xf32>, tensor<4x2xi64>) -> tensor<4x6xf32>
  %r4 = train.one_hot %v : (tensor<3xi32>) -> tensor<3x10xf32>
  // CHECK: %r4 = train.one_hot %v : (tensor<3xi32>) -> tensor<3x10xf32>
  func.return
}
