// RUN: npuc opt %s --parsing-diagnostics --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = 3 : i64} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: mapping is 3 : i64, expected #mapping.maestro or #mapping.clusters

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<CONF, sizes {}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown kind of layer 'CONF', expected CONV, DSCONV, NGCONV, TRCONV, GEMM

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {C = 6}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown dimension 'C' in sizes, expected K, M, N

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, M = 6}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: M comes twice in sizes

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {K = 6}, strides {K = 6}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown dimension 'K' in strides, expected Y, X

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (1, 1) C]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown dimension 'C', the layer has M, N, K

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (1, 1) "Y'"]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown dimension 'Y'', the layer has M, N, K

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [temporal (1, Sz(Q)) K]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown dimension 'Q', the layer has M, N, K

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spacial (1, 1) K]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown directive 'spacial', expected spatial, temporal or cluster

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: a GEMM needs a size of K

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 0}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: size of K is 0, expected at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, strides {Y = 2}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: a GEMM has no strides

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {K = 4, C = 8, R = 1, S = 1, Y = 6, X = 1}, strides {Y = 0}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: stride of Y is 0, expected at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {K = 4, C = 8, R = 7, S = 1, Y = 6, X = 1}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: Y is 6, less than R, which is 7

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<DSCONV, sizes {K = 4, C = 8, R = 1, S = 1, Y = 6, X = 1}, []>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: K is 4, a DSCONV has no K: expected 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (0, 1) M]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: SpatialMap(0, 1) M: tiles and offsets must be at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (1, 0) M]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: SpatialMap(1, 0) M: tiles and offsets must be at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (1, 1) M, cluster 0]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: Cluster(0, P): clusters must be at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (1, 1) M, cluster 1, spatial (1, 1) K, cluster 1, spatial (1, 1) K, cluster 1, spatial (1, 1) K, cluster 1, spatial (1, 1) K]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: a mapping has at most 3 Cluster directives, got 4

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [temporal (1, 1) M]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: level 0 has no spatial maps, expected one or two

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (1, 1) M, cluster 2]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: level 1 has no spatial maps, expected one or two

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (1, 1) M, spatial (1, 1) N, spatial (1, 1) K]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: level 0 has 3 spatial maps, expected one or two

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 8}, [spatial (1, 1) M, temporal (1, 1) M]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: level 0 has several maps of M

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {K = 4, C = 8, R = 1, S = 1, Y = 6, X = 1}, [spatial (1, 1) Y, temporal (1, 1) "Y'", temporal (1, 1) R]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: level 0 has several maps of Y

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {K = 4, C = 8, R = 1, S = 1, Y = 6, X = 1}, [spatial (1, 1) "Y'"]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: SpatialMap(1, 1) Y' needs a map of R at the same level

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {K = 4, C = 8, R = 3, S = 3, Y = 6, X = 6}, [spatial (1, 1) K, temporal (1, 1) R]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: TemporalMap(1, 1) R: a temporal map of R must be of all 3, and as much apart

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {K = 4, C = 8, R = 3, S = 3, Y = 6, X = 6}, [spatial (1, 1) K, temporal (3, 7) S]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: TemporalMap(3, 7) S: a temporal map of S must be of all 3, and as much apart

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 4, K = 7}, [spatial (1, 1) M]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: the mapping is of another GEMM: K is 7, the nest has k = 8

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {K = 4, C = 8, R = 1, S = 1, Y = 5, X = 1}, [spatial (1, 1) C]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: the mapping is of another CONV: Y' is 5, the nest has one

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.maestro<TRCONV, sizes {K = 4, C = 8, R = 1, S = 1, Y = 6, X = 1}, [spatial (1, 1) C]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: the nest is no TRCONV, expected GEMM or CONV

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.clusters<2 [q : 1]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown dimension 'q' at level 0, the nest has m, n, k

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.clusters<0 [m : 1]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: level 0 has 0 sub-clusters, expected at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.clusters<2 [m : 2, m : 1]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: level 0 has m twice

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.clusters<2 [m : 0]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: tiles of m at level 0 must be at least 1, got m : 0

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.clusters<2 [m : 1 / 2]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: a sub-cluster of level 0 gets 2 of m, of 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.clusters<2 [m : 7]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: a step of level 0 takes 7 of m, the level is given 6

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.clusters<2 [m : 4 / 2], 2 [m : 3]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: a step of level 1 takes 3 of m, the level is given 2

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {mapping = #mapping.clusters<2 [m : 6 / 2]>} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: a step of level 0 is for 3 sub-clusters, the level has 2

// -----

func.func @f(%dY: tensor<6x4xf64>, %W: tensor<8x4xf64>, %X: tensor<6x8xf64>) {
  %dX, %dW = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n], X = %X[m, k]) outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY) {mapping = #mapping.maestro<GEMM, sizes {M = 6, N = 8, K = 4}, [spatial (1, 1) M]>} : (tensor<6x4xf64>, tensor<8x4xf64>, tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>)
  func.return
}

// CHECK: the nest has 2 statements: only a mapping in cluster form is for all of them

// -----

func.func @f(%x: tensor<2x3x9x9xf32>, %w: tensor<8x3x3x3xf32>) {
  %y = npu.contract (b = 2, o = 8, i = 3, y = 5, x = 5, r = 3, s = 3) ins(X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1], W = %w[o, i, r, s]) outs(Y[b, o, y, x]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {K = 8, C = 3, R = 3, S = 3, Y = 7, X = 11}, strides {X = 2}, [spatial (1, 1) K]>} : (tensor<2x3x9x9xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x5x5xf32>
  func.return
}

// CHECK: the mapping is of another CONV: it has no size of N, the nest has b

// -----

func.func @f(%x: tensor<2x3x9x9xf32>, %w: tensor<8x3x3x3xf32>) {
  %y = npu.contract (b = 2, o = 8, i = 3, y = 5, x = 5, r = 3, s = 3) ins(X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1], W = %w[o, i, r, s]) outs(Y[b, o, y, x]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {N = 2, K = 8, C = 3, R = 3, S = 3, Y = 7, X = 11}, strides {X = 2}, [spatial (1, 1) K]>} : (tensor<2x3x9x9xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x5x5xf32>
  func.return
}

// CHECK: the mapping is of another CONV: the stride of Y is 1, that of the nest 2

// -----

func.func @f(%x: tensor<2x3x9x9xf32>, %w: tensor<8x3x3x3xf32>) {
  %y = npu.contract (b = 2, o = 8, i = 3, y = 5, x = 5, r = 3, s = 3) ins(X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1], W = %w[o, i, r, s]) outs(Y[b, o, y, x]) do(Y += X * W) {mapping = #mapping.maestro<CONV, sizes {N = 2, K = 8, C = 3, R = 3, S = 3, Y = 13, X = 11}, strides {X = 2, Y = 2}, [spatial (1, 1) K]>} : (tensor<2x3x9x9xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x5x5xf32>
  func.return
}

// CHECK: the mapping is of another CONV: Y' is 6, the nest has y = 5
