// RUN: npuc opt %s -p "sparsify{rules=\"weights=0.1\"}" | filecheck %s
// RUN: npuc opt %s -p "sparsify{rules=\"w=2:4; activations=0.5 csr\"}" | filecheck %s --check-prefix=NM
// RUN: npuc opt %s -p "sparsify" | filecheck %s --check-prefix=OWN

// A weight is pruned where the first product reads it; of an activation the density is a statement.

func.func @step(%x: tensor<4x32xf32> {train.input = "x"}, %w: tensor<32x8xf32> {train.param = "w", train.density = "1/4 rle"},
    %b: tensor<8xf32> {train.param = "b"}) -> (tensor<4x8xf32> {train.output = "y"}) {
  %y = npu.contract (m = 4, n = 8, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W)
    {layer = "fc"} : (tensor<4x32xf32>, tensor<32x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// CHECK:      %w_s = npu.vector prune(%w) <{kept = 1 : i64, of = 10 : i64, pattern = "magnitude", {{.*}}}> ops 768 again [0] groups 1 {layer = "fc"} : (tensor<32x8xf32>) -> tensor<32x8x!npu.sparse<f32, 1/10, bitmap>>
// CHECK-NEXT: %y = npu.contract {{.*}} ins(X = %x[m, k], W = %w_s[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W) {layer = "fc"}
// CHECK-SAME:   (tensor<4x32xf32>, tensor<32x8x!npu.sparse<f32, 1/10, bitmap>>, tensor<8xf32>) -> tensor<4x8xf32>

// NM:      %x_s = npu.vector compress(%x) ops 256 {layer = "fc"} : (tensor<4x32xf32>) -> tensor<4x32x!npu.sparse<f32, 1/2, csr<32>>>
// NM-NEXT: %w_s = npu.vector prune(%w) <{pattern = "n:m", axis = 0 : i64, kept = 2 : i64, of = 4 : i64, {{.*}}}> ops 1280 {layer = "fc"} : (tensor<32x8xf32>) -> tensor<32x8x!npu.sparse<f32, 1/2, nm<2, 4, 0>>>

// OWN: npu.vector prune(%w) <{kept = 1 : i64, of = 4 : i64, {{.*}}}> ops 768 again [0] groups 1 {layer = "fc"} : (tensor<32x8xf32>) -> tensor<32x8x!npu.sparse<f32, 1/4, rle<5>>>
