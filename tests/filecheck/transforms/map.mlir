// RUN: npuc opt %s -p 'map{mapping=kcp_ws num-pes=16}' | filecheck %s
// RUN: npuc opt %s -p 'map{mapping=nvdla form=directives num-pes=16}' | filecheck %s --check-prefix DIRECTIVES
// RUN: npuc opt %s -p 'set-target{rows=2 cols=2 spm-bytes=160 clock-mhz=1000 gb-per-s=1 lanes=1 num-pes=8},map{mapping=os only="c*"}' | filecheck %s --check-prefix TARGET

// What is written stays; Y, dX and dW each have their own columns, and clusters are no larger than the machine.
func.func @products(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %dy: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    {layer = "fc"} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    {layer = "fc", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    {layer = "fc", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %z = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    {layer = "own", mapping = #mapping.clusters<4 [n : 4 / 1]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return %y, %dx, %dw, %z : tensor<6x4xf32>, tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>
}

// CHECK-LABEL: @products
// CHECK: do(Y += X * W) {layer = "fc", mapping = #mapping.clusters<1 [n : 1, k : 8, m : 1], 16 [k : 8 / 1, m : 1]>}
// CHECK: do(dX += dY * W) {layer = "fc", role = "dx", mapping = #mapping.clusters<1 [k : 1, n : 4, m : 1], 16 [n : 4 / 1, m : 1]>}
// CHECK: do(dW += X * dY) {layer = "fc", role = "dw", mapping = #mapping.clusters<1 [n : 1, k : 8, m : 1], 16 [k : 8 / 1, m : 1]>}
// CHECK: {layer = "own", mapping = #mapping.clusters<4 [n : 4 / 1]>}
// DIRECTIVES-LABEL: @products
// DIRECTIVES: mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (1, 1) N, temporal (16, 16) K, temporal (1, 1) M, cluster 16, spatial (1, 1) K, temporal (1, 1) M]>
// DIRECTIVES: mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 8, K = 4}
// DIRECTIVES: mapping = #mapping.maestro<GEMM, sizes {M = 8, N = 4, K = 6}
// DIRECTIVES: mapping = #mapping.clusters<4 [n : 4 / 1]>

// Rows over clusters, columns inside; groups and images come one after the other.
func.func @convolution(%x: tensor<2x4x6x6xf32>, %w: tensor<8x2x3x3xf32>) -> tensor<2x8x4x4xf32> {
  %y = npu.contract (b = 2, g = 2, o = 4, i = 2, y = 4, x = 4, r = 3, s = 3) ins(X = %x[b, g * 2 + i, y + r, x + s], W = %w[g * 4 + o, i, r, s])
    outs(Y[b, g * 4 + o, y, x]) do(Y += X * W) {layer = "c"} : (tensor<2x4x6x6xf32>, tensor<8x2x3x3xf32>) -> tensor<2x8x4x4xf32>
  func.return %y : tensor<2x8x4x4xf32>
}

// TARGET-NOT: layer = "fc", mapping
// TARGET-LABEL: @convolution
// TARGET: mapping = #mapping.clusters<1 [g : 1, o : 1, i : 1, b : 1, y : 1, x : 4], 8 [x : 4 / 1, r : 3, s : 3]>
// DIRECTIVES-LABEL: @convolution
// DIRECTIVES: mapping = #mapping.maestro<NGCONV, {{.*}}[temporal (1, 1) G, spatial (1, 1) K, temporal (16, 16) C, temporal (Sz(R), Sz(R)) R, temporal (Sz(S), Sz(S)) S, temporal (1, 1) N, temporal (Sz(R), 1) Y,
