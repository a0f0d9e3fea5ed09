// RUN: npuc opt %s | filecheck %s

// Sorting: the text that prints is the text that was read.

func.func @operations(%x: tensor<4x6xf32>) {
  %r0, %p0 = train.sort %x axis 1 descending : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  // CHECK: %r0, %p0 = train.sort %x axis 1 descending : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  %p1 = train.argsort %x axis -2 : (tensor<4x6xf32>) -> tensor<4x6xi32>
  // CHECK: %p1 = train.argsort %x axis -2 : (tensor<4x6xf32>) -> tensor<4x6xi32>
  %r2, %p2 = train.topk %x axis 1 k 2 smallest : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  // CHECK: %r2, %p2 = train.topk %x axis 1 k 2 smallest : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  func.return
}
