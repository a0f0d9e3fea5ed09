// RUN: npuc opt %s | npuc opt | filecheck %s
// RUN: npuc opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: npuc opt %s --print-op-generic | npuc opt | filecheck %s

// Directives, in the dictionary with the layer, beside a schedule; dimensions of the output are quoted.
func.func @directives(%x: tensor<2x3x9x9xf32>, %w: tensor<8x3x3x3xf32>) -> tensor<2x8x5x5xf32> {
  %y = npu.contract (b = 2, o = 8, i = 3, y = 5, x = 5, r = 3, s = 3)
    ins(X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1], W = %w[o, i, r, s]) outs(Y[b, o, y, x]) do(Y += X * W) loops [b : 1]
    {mapping = #mapping.maestro<CONV, sizes {N = 2, K = 8, C = 3, R = 3, S = 3, Y = 11, X = 11}, strides {Y = 2, X = 2},
      [spatial (1, 1) K, temporal (64, 64) C, temporal (Sz(R), 1) Y, temporal (1, 1) "X'", temporal (Sz(S), Sz(S)) S,
       cluster Sz("Y'"), spatial (1, 1) C] unchecked>, layer = "c"}
    : (tensor<2x3x9x9xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x5x5xf32>
  func.return %y : tensor<2x8x5x5xf32>
}

// CHECK-LABEL: func.func @directives
// CHECK-NEXT:   %y = npu.contract (b = 2, o = 8, i = 3, y = 5, x = 5, r = 3, s = 3) ins(X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1], W = %w[o, i, r, s]) outs(Y[b, o, y, x]) do(Y += X * W) loops [b : 1] {layer = "c", mapping = #mapping.maestro<CONV, sizes {N = 2, K = 8, C = 3, R = 3, S = 3, Y = 11, X = 11}, strides {Y = 2, X = 2}, [spatial (1, 1) K, temporal (64, 64) C, temporal (Sz(R), 1) Y, temporal (1, 1) "X'", temporal (Sz(S), Sz(S)) S, cluster Sz("Y'"), spatial (1, 1) C] unchecked>} : (tensor<2x3x9x9xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x5x5xf32>
// CHECK-NEXT:   func.return %y : tensor<2x8x5x5xf32>

// Cluster form, for both gradients of a linear layer.
func.func @clusters(%dY: tensor<6x4xf64>, %W: tensor<8x4xf64>, %X: tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>) {
  %dX, %dW = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n], X = %X[m, k]) outs(dX[m, k], dW[k, n])
    do(dX += dY * W, dW += X * dY) {mapping = #mapping.clusters<2 [k : 4 / 2, m : 6], 3 [n : 4 / 2], 1 []>}
    : (tensor<6x4xf64>, tensor<8x4xf64>, tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>)
  func.return %dX, %dW : tensor<6x8xf64>, tensor<8x4xf64>
}

// CHECK-LABEL: func.func @clusters
// CHECK-NEXT:   %dX, %dW = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n], X = %X[m, k]) outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY) {mapping = #mapping.clusters<2 [k : 4 / 2, m : 6], 3 [n : 4 / 2], 1 []>} : (tensor<6x4xf64>, tensor<8x4xf64>, tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>)
// CHECK-NEXT:   func.return %dX, %dW : tensor<6x8xf64>, tensor<8x4xf64>

// GENERIC: schedule = #npu.schedule<loops [b : 1]>, mapping = #mapping.maestro<CONV, sizes {N = 2, {{.*}} unchecked>}> {layer = "c"}
// GENERIC: mapping = #mapping.clusters<2 [k : 4 / 2, m : 6], 3 [n : 4 / 2], 1 []>}>
