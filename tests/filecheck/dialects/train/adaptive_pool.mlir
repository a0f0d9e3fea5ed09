// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<1x2x7x8xf32>, %p: tensor<1x2x3x3xf32>) {
  %r0 = train.adaptive_avg_pool %x size [3, 3] : (tensor<1x2x7x8xf32>) -> tensor<1x2x3x3xf32>
  // CHECK: %r0 = train.adaptive_avg_pool %x size [3, 3] : (tensor<1x2x7x8xf32>) -> tensor<1x2x3x3xf32>
  %r1 = train.adaptive_avg_pool_grad %p : (tensor<1x2x3x3xf32>) -> tensor<1x2x7x8xf32>
  // CHECK: %r1 = train.adaptive_avg_pool_grad %p : (tensor<1x2x3x3xf32>) -> tensor<1x2x7x8xf32>
  %r2 = train.adaptive_max_pool %x size [3, 9] : (tensor<1x2x7x8xf32>) -> tensor<1x2x3x9xf32>
  // CHECK: %r2 = train.adaptive_max_pool %x size [3, 9] : (tensor<1x2x7x8xf32>) -> tensor<1x2x3x9xf32>
  %r3 = train.adaptive_max_pool_grad %p, %x : (tensor<1x2x3x3xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x7x8xf32>
  // CHECK: %r3 = train.adaptive_max_pool_grad %p, %x : (tensor<1x2x3x3xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x7x8xf32>
  func.return
}
