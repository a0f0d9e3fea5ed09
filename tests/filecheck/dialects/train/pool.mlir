// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<1x2x7x8xf32>, %p: tensor<1x2x4x4xf32>, %q: tensor<1x2x5x6xf32>) {
  %r0 = train.max_pool %x kernel [2, 2] stride [2, 2] ceil : (tensor<1x2x7x8xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: %r0 = train.max_pool %x kernel [2, 2] stride [2, 2] ceil : (tensor<1x2x7x8xf32>) -> tensor<1x2x4x4xf32>
  %r1 = train.max_pool %x dilation [2, 2] kernel [2, 2] : (tensor<1x2x7x8xf32>) -> tensor<1x2x5x6xf32>
  // CHECK: %r1 = train.max_pool %x dilation [2, 2] kernel [2, 2] : (tensor<1x2x7x8xf32>) -> tensor<1x2x5x6xf32>
  %r2 = train.max_pool_grad %p, %x kernel [2, 2] stride [2, 2] ceil : (tensor<1x2x4x4xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x7x8xf32>
  // CHECK: %r2 = train.max_pool_grad %p, %x kernel [2, 2] stride [2, 2] ceil : (tensor<1x2x4x4xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x7x8xf32>
  %r3 = train.max_pool_grad %q, %x dilation [2, 2] kernel [2, 2] : (tensor<1x2x5x6xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x7x8xf32>
  // CHECK: %r3 = train.max_pool_grad %q, %x dilation [2, 2] kernel [2, 2] : (tensor<1x2x5x6xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x7x8xf32>
  %r4 = train.avg_pool %x exclude kernel [3, 3] stride [2, 2] padding [1, 1, 1, 1] : (tensor<1x2x7x8xf32>) -> tensor<1x2x4x4xf32>
  // CHECK: %r4 = train.avg_pool %x exclude kernel [3, 3] stride [2, 2] padding [1, 1, 1, 1] : (tensor<1x2x7x8xf32>) -> tensor<1x2x4x4xf32>
  %r5 = train.avg_pool %x exclude kernel [3, 2] stride [2, 2] ceil : (tensor<1x2x7x8xf32>) -> tensor<1x2x3x4xf32>
  // CHECK: %r5 = train.avg_pool %x exclude kernel [3, 2] stride [2, 2] ceil : (tensor<1x2x7x8xf32>) -> tensor<1x2x3x4xf32>
  %r6 = train.avg_pool_grad %p kernel [2, 2] stride [2, 2] ceil : (tensor<1x2x4x4xf32>) -> tensor<1x2x7x8xf32>
  // CHECK: %r6 = train.avg_pool_grad %p kernel [2, 2] stride [2, 2] ceil : (tensor<1x2x4x4xf32>) -> tensor<1x2x7x8xf32>
  func.return
}
