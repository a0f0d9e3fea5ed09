// RUN: npuc opt %s | npuc opt | filecheck %s

func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x8x!npu.sparse<f32, 1/10, csr<8>>>, %v: tensor<32x8x!npu.sparse<bf16, 2/4, nm<2, 4, 0>>>)
    -> (tensor<4x8xf32> {npuc.name = "y"}, tensor<4x8xf32> {npuc.name = "z"}) {
  %y = npu.contract (m = 4, n = 8, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    : (tensor<4x32xf32>, tensor<32x8x!npu.sparse<f32, 1/10, csr<8>>>) -> tensor<4x8xf32>
  %z = npu.contract (m = 4, n = 8, k = 32) ins(X = %x[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W)
    : (tensor<4x32xf32>, tensor<32x8x!npu.sparse<bf16, 1/2, nm<2, 4, 0>>>) -> tensor<4x8xf32>
  func.return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK:      : (tensor<4x32xf32>, tensor<32x8x!npu.sparse<f32, 1/10, csr<8>>>) -> tensor<4x8xf32>
// CHECK:      : (tensor<4x32xf32>, tensor<32x8x!npu.sparse<bf16, 1/2, nm<2, 4, 0>>>) -> tensor<4x8xf32>
