// RUN: npuc opt %s -p 'contraction-form{form=native}' | filecheck %s --check-prefix=NATIVE
// RUN: npuc opt %s -p 'contraction-form{form=ttgt}' | filecheck %s --check-prefix=TTGT

// Operands and the result of an einsum: no transposition is left.
func.func @einsum(%x: tensor<4x6x5x7xf32>, %w: tensor<7x8x3x6xf32>) -> tensor<4x5x3x8xf32> {
  %0 = npu.move transpose(%x) <{axes = array<i64: 0, 2, 1, 3>}> {layer = "y"} : (tensor<4x6x5x7xf32>) -> tensor<4x5x6x7xf32>
  %1 = npu.view reshape(%0) {layer = "y"} : (tensor<4x5x6x7xf32>) -> tensor<20x42xf32>
  %2 = npu.move transpose(%w) <{axes = array<i64: 3, 0, 1, 2>}> {layer = "y"} : (tensor<7x8x3x6xf32>) -> tensor<6x7x8x3xf32>
  %3 = npu.view reshape(%2) {layer = "y"} : (tensor<6x7x8x3xf32>) -> tensor<42x24xf32>
  %4 = npu.contract (m = 20, n = 24, k = 42) ins(X = %1[m, k], W = %3[k, n]) outs(Y[m, n]) do(Y += X * W) {layer = "y"} : (tensor<20x42xf32>, tensor<42x24xf32>) -> tensor<20x24xf32>
  %5 = npu.view reshape(%4) {layer = "y"} : (tensor<20x24xf32>) -> tensor<4x5x8x3xf32>
  %y = npu.move transpose(%5) <{axes = array<i64: 0, 1, 3, 2>}> {layer = "y"} : (tensor<4x5x8x3xf32>) -> tensor<4x5x3x8xf32>
  func.return %y : tensor<4x5x3x8xf32>
}
// NATIVE-LABEL: @einsum
// NATIVE-NEXT: %y = npu.contract (m0 = 4, m1 = 5, n0 = 8, n1 = 3, k0 = 6, k1 = 7)
// NATIVE-SAME:   ins(X = %x[m0, k0, m1, k1], W = %w[k1, n0, n1, k0]) outs(Y[m0, m1, n1, n0]) do(Y += X * W) {layer = "y"}
// NATIVE-NEXT: func.return %y

// A start is cut as the result is; a transposition that is returned, too, stays.
func.func @start(%x: tensor<4x6x5xf32>, %w: tensor<6x6xf32>, %b: tensor<6xf32>) -> (tensor<4x2x5x3xf32>, tensor<4x5x6xf32>) {
  %0 = npu.move transpose(%x) <{axes = array<i64: 0, 2, 1>}> : (tensor<4x6x5xf32>) -> tensor<4x5x6xf32>
  %1 = npu.contract (b = 4, m = 5, n = 6, k = 6) ins(X = %0[b, m, k], W = %w[k, n]) outs(Y[b, m, n] from %b[n]) do(Y += X * W) : (tensor<4x5x6xf32>, tensor<6x6xf32>, tensor<6xf32>) -> tensor<4x5x6xf32>
  %2 = npu.view reshape(%1) : (tensor<4x5x6xf32>) -> tensor<4x5x2x3xf32>
  %y = npu.move transpose(%2) <{axes = array<i64: 0, 2, 1, 3>}> : (tensor<4x5x2x3xf32>) -> tensor<4x2x5x3xf32>
  func.return %y, %0 : tensor<4x2x5x3xf32>, tensor<4x5x6xf32>
}
// NATIVE-LABEL: @start
// NATIVE-NEXT: %0 = npu.move transpose(%x)
// NATIVE-NEXT: [[W:%.+]] = npu.view reshape(%w) : (tensor<6x6xf32>) -> tensor<6x2x3xf32>
// NATIVE-NEXT: [[B:%.+]] = npu.view reshape(%b) : (tensor<6xf32>) -> tensor<2x3xf32>
// NATIVE-NEXT: %y = npu.contract (b = 4, m = 5, n0 = 2, n1 = 3, k = 6)
// NATIVE-SAME:   ins(X = %x[b, k, m], W = [[W]][k, n0, n1]) outs(Y[b, n0, m, n1] from [[B]][n0, n1])
// NATIVE-NEXT: func.return %y, %0

// Cuts of k = 12 into 3 x 4 and into 2 x 6 do not nest: the larger tensor has its own.
func.func @crossed(%x: tensor<8x4x3xf32>, %w: tensor<6x2x2xf32>) -> tensor<8x2xf32> {
  %0 = npu.move transpose(%x) <{axes = array<i64: 0, 2, 1>}> : (tensor<8x4x3xf32>) -> tensor<8x3x4xf32>
  %1 = npu.view reshape(%0) : (tensor<8x3x4xf32>) -> tensor<8x12xf32>
  %2 = npu.move transpose(%w) <{axes = array<i64: 1, 0, 2>}> : (tensor<6x2x2xf32>) -> tensor<2x6x2xf32>
  %3 = npu.view reshape(%2) : (tensor<2x6x2xf32>) -> tensor<12x2xf32>
  %y = npu.contract (m = 8, n = 2, k = 12) ins(X = %1[m, k], W = %3[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<8x12xf32>, tensor<12x2xf32>) -> tensor<8x2xf32>
  func.return %y : tensor<8x2xf32>
}
// NATIVE-LABEL: @crossed
// NATIVE-NEXT: [[T:%.+]] = npu.move transpose(%w)
// NATIVE:      npu.contract (m = 8, n = 2, k0 = 3, k1 = 4) ins(X = %x[m, k1, k0], W = {{%.+}}[k0, k1, n])

// The order of e and f is that of %w, so that only %x is transposed.
func.func @contraction(%x: tensor<4x6x5x7xf32>, %w: tensor<7x6x8x3xf32>) -> tensor<4x5x8x3xf32> {
  %y = npu.contract (a = 4, b = 5, c = 8, d = 3, e = 6, f = 7) ins(X = %x[a, e, b, f], W = %w[f, e, c, d]) outs(Y[a, b, c, d]) do(Y += X * W) {layer = "y"} : (tensor<4x6x5x7xf32>, tensor<7x6x8x3xf32>) -> tensor<4x5x8x3xf32>
  func.return %y : tensor<4x5x8x3xf32>
}
// TTGT-LABEL: @contraction
// TTGT-NEXT: [[T:%.+]] = npu.move transpose(%x)
// TTGT-NEXT: [[X:%.+]] = npu.view reshape([[T]]) {layer = "y"}
// TTGT-NEXT: [[W:%.+]] = npu.view reshape(%w) {layer = "y"}
// TTGT-NEXT: [[Y:%.+]] = npu.contract (ab = 20, cd = 24, [[K:[ef]+]] = 42) ins(X = [[X]][ab, [[K]]], W = [[W]]{{\[}}[[K]], cd]) outs(Y[ab, cd]) do(Y += X * W) {layer = "y"}
// TTGT-NEXT: %y = npu.view reshape([[Y]]) {layer = "y"}
// TTGT-NEXT: func.return %y

// A start over a part of a group, and a dimension of one tensor alone, have no such product.
func.func @none(%x: tensor<4x6x5xf32>, %w: tensor<6x3x2xf32>, %b: tensor<2xf32>, %v: tensor<6x3xf32>) -> (tensor<4x5x3x2xf32>, tensor<6xf32>) {
  %y = npu.contract (a = 4, b = 5, c = 3, d = 2, e = 6) ins(X = %x[a, e, b], W = %w[e, c, d]) outs(Y[a, b, c, d] from %b[d]) do(Y += X * W) : (tensor<4x6x5xf32>, tensor<6x3x2xf32>, tensor<2xf32>) -> tensor<4x5x3x2xf32>
  %z = npu.contract (a = 4, b = 5, c = 3, e = 6) ins(X = %x[a, e, b], W = %v[e, c]) outs(Y[e]) do(Y += X * W) : (tensor<4x6x5xf32>, tensor<6x3xf32>) -> tensor<6xf32>
  func.return %y, %z : tensor<4x5x3x2xf32>, tensor<6xf32>
}
// TTGT-LABEL: @none
// TTGT-NEXT: npu.contract (a = 4, b = 5, c = 3, d = 2, e = 6)
// TTGT-NEXT: npu.contract (a = 4, b = 5, c = 3, e = 6)

// Names of parts and of groups are no other dimension's.
func.func @parts(%x: tensor<4x6x5xf32>, %w: tensor<6x3xf32>) -> tensor<20x3xf32> {
  %0 = npu.move transpose(%x) <{axes = array<i64: 0, 2, 1>}> : (tensor<4x6x5xf32>) -> tensor<4x5x6xf32>
  %1 = npu.view reshape(%0) : (tensor<4x5x6xf32>) -> tensor<20x6xf32>
  %y = npu.contract (m = 20, m0 = 3, k = 6) ins(X = %1[m, k], W = %w[k, m0]) outs(Y[m, m0]) do(Y += X * W) : (tensor<20x6xf32>, tensor<6x3xf32>) -> tensor<20x3xf32>
  func.return %y : tensor<20x3xf32>
}
// NATIVE-LABEL: @parts
// NATIVE-NEXT: npu.contract (m_0 = 4, m_1 = 5, m0 = 3, k = 6) ins(X = %x[m_0, k, m_1], W = %w[k, m0]) outs(Y[m_0, m_1, m0])

func.func @groups(%x: tensor<4x6x5xf32>, %w: tensor<6x3xf32>) -> tensor<4x5x3xf32> {
  %y = npu.contract (m0 = 4, m1 = 5, m = 3, k = 6) ins(X = %x[m0, k, m1], W = %w[k, m]) outs(Y[m0, m1, m]) do(Y += X * W) : (tensor<4x6x5xf32>, tensor<6x3xf32>) -> tensor<4x5x3xf32>
  func.return %y : tensor<4x5x3xf32>
}
// TTGT-LABEL: @groups
// TTGT: npu.contract (m = 20, m_ = 3, k = 6) ins(X = {{%.+}}[m, k], W = %w[k, m_]) outs(Y[m, m_])

// Several transpositions are followed to the last one, and reshapes between them.
func.func @chain(%x: tensor<5x6x4xf32>, %w: tensor<6x3xf32>) -> tensor<3x2x10xf32> {
  %0 = npu.move transpose(%x) <{axes = array<i64: 2, 0, 1>}> : (tensor<5x6x4xf32>) -> tensor<4x5x6xf32>
  %1 = npu.view reshape(%0) : (tensor<4x5x6xf32>) -> tensor<20x6xf32>
  %2 = npu.move transpose(%1) <{axes = array<i64: 1, 0>}> : (tensor<20x6xf32>) -> tensor<6x20xf32>
  %3 = npu.contract (m = 20, n = 3, k = 6) ins(X = %2[k, m], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x20xf32>, tensor<6x3xf32>) -> tensor<20x3xf32>
  %4 = npu.view reshape(%3) : (tensor<20x3xf32>) -> tensor<2x10x3xf32>
  %y = npu.move transpose(%4) <{axes = array<i64: 2, 0, 1>}> : (tensor<2x10x3xf32>) -> tensor<3x2x10xf32>
  func.return %y : tensor<3x2x10xf32>
}
// NATIVE-LABEL: @chain
// NATIVE-NEXT: [[X:%.+]] = npu.view reshape(%x) : (tensor<5x6x4xf32>) -> tensor<5x6x2x2xf32>
// NATIVE-NEXT: [[Y:%.+]] = npu.contract (m0 = 2, m1 = 2, m2 = 5, n = 3, k = 6)
// NATIVE-SAME:   ins(X = [[X]][m2, k, m0, m1], W = %w[k, n]) outs(Y[n, m0, m1, m2])

// A mapping is one of the form that the contraction has.
func.func @mapped(%x: tensor<4x6x5xf32>, %w: tensor<6x3xf32>) -> tensor<4x5x3xf32> {
  %y = npu.contract (a = 4, b = 5, c = 3, e = 6) ins(X = %x[a, e, b], W = %w[e, c]) outs(Y[a, b, c]) do(Y += X * W) {mapping = #mapping.clusters<4 [a : 4 / 1]>} : (tensor<4x6x5xf32>, tensor<6x3xf32>) -> tensor<4x5x3xf32>
  func.return %y : tensor<4x5x3xf32>
}
// TTGT-LABEL: @mapped
// TTGT-NEXT: npu.contract (a = 4, b = 5, c = 3, e = 6)
