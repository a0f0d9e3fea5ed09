// RUN: npuc opt %s | npuc opt | filecheck %s

// Pruning by each pattern, and storing as it is.

func.func @f(%x: tensor<4x32xf32>, %q: tensor<4x32x!npu.bfp<4, 16, 3>>, %mask: tensor<4x32xi1>, %beta: tensor<f32>) {
  %a = train.prune %x kept 1 of 10 : (tensor<4x32xf32>) -> tensor<4x32x!npu.sparse<f32, 1/10, csr<32>>>
  %b = train.prune %x, %beta pattern "n:m" axis 1 kept 2 of 4 : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xf32>
  %c = train.prune %x pattern "uniform" kept 1 of 2 seed 7 independent : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %d = train.prune %x pattern "blocks" block [2, 4] kept 1 of 4 : (tensor<4x32xf32>) -> tensor<4x32x!npu.sparse<f32, 1/4, blocks<2, 4>>>
  %e = train.prune %x, %mask, %beta pattern "given" : (tensor<4x32xf32>, tensor<4x32xi1>, tensor<f32>) -> tensor<4x32xf32>
  %g = train.prune %x pattern "n:m" axis 1 across 0 kept 2 of 4 : (tensor<4x32xf32>) -> tensor<4x32x!npu.sparse<f32, 1/2, nm<2, 4, 1, 0>>>
  %f = train.compress %q : (tensor<4x32x!npu.bfp<4, 16, 3>>) -> tensor<4x32x!npu.sparse<!npu.bfp<4, 16, 3>, 1/2, bitmap>>
  func.return
}

// CHECK:      %a = train.prune %x kept 1 of 10 : (tensor<4x32xf32>) -> tensor<4x32x!npu.sparse<f32, 1/10, csr<32>>>
// CHECK-NEXT: %b = train.prune %x, %beta pattern "n:m" axis 1 kept 2 of 4 : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xf32>
// CHECK-NEXT: %c = train.prune %x pattern "uniform" kept 1 of 2 independent seed 7 : (tensor<4x32xf32>) -> tensor<4x32xf32>
// CHECK-NEXT: %d = train.prune %x pattern "blocks" block [2, 4] kept 1 of 4 : (tensor<4x32xf32>) -> tensor<4x32x!npu.sparse<f32, 1/4, blocks<2, 4>>>
// CHECK-NEXT: %e = train.prune %x, %mask, %beta pattern "given" : (tensor<4x32xf32>, tensor<4x32xi1>, tensor<f32>) -> tensor<4x32xf32>
// CHECK-NEXT: %g = train.prune %x pattern "n:m" axis 1 across 0 kept 2 of 4 : (tensor<4x32xf32>) -> tensor<4x32x!npu.sparse<f32, 1/2, nm<2, 4, 1, 0>>>
// CHECK-NEXT: %f = train.compress %q : (tensor<4x32x!npu.bfp<4, 16, 3>>) -> tensor<4x32x!npu.sparse<!npu.bfp<4, 16, 3>, 1/2, bitmap>>
