// RUN: npuc opt %s -p 'interleave{mode=fused what=all}' | filecheck %s

// dX and dW of a layer share dY. They stand at the place of the first, without the tiles they had.
func.func @gradients(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<8x4xf32>) {
  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    loops [m : 2] {layer = "fc2", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %h = npu.vector relu(%dx) ops 48 {layer = "h"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    {layer = "fc2", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %dx, %h, %dw : tensor<6x8xf32>, tensor<6x8xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @gradients
// CHECK-NEXT: %dx, %dw = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n], X = %x[m, k]) outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY) {layer = "fc2", role = "dxdw"} : (tensor<6x4xf32>, tensor<8x4xf32>, tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>)
// CHECK-NEXT: %h = npu.vector relu(%dx)
// CHECK-NEXT: func.return %dx, %h, %dw

// A strided, padded convolution, with an earlier gradient of its weight as the start of the sum.
func.func @convolution(%dy: tensor<2x8x4x4xf32>, %w: tensor<8x3x3x3xf32>, %x: tensor<2x3x8x8xf32>, %before: tensor<8x3x3x3xf32>) -> (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) {
  %dx = npu.contract (b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3) ins(dY = %dy[b, o, y, x], W = %w[o, i, r, s])
    outs(dX[b, i, y * 2 + r - 1, x * 2 + s - 1]) do(dX += dY * W)
    {layer = "conv", role = "dx"} : (tensor<2x8x4x4xf32>, tensor<8x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  %dw = npu.contract (b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3) ins(X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1], dY = %dy[b, o, y, x])
    outs(dW[o, i, r, s] from %before[o, i, r, s]) do(dW += X * dY)
    {layer = "conv", role = "dw"} : (tensor<2x3x8x8xf32>, tensor<2x8x4x4xf32>, tensor<8x3x3x3xf32>) -> tensor<8x3x3x3xf32>
  func.return %dx, %dw : tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>
}

// CHECK-LABEL: @convolution
// CHECK-NEXT: %dx, %dw = npu.contract
// CHECK-SAME: ins(dY = %dy[b, o, y, x], W = %w[o, i, r, s], X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1]) outs(dX[b, i, y * 2 + r - 1, x * 2 + s - 1], dW[o, i, r, s] from %before[o, i, r, s]) do(dX += dY * W, dW += X * dY) {layer = "conv", role = "dxdw"}

// Projections that share X: tensors are numbered, dimensions of other names take those of the first.
func.func @siblings(%x: tensor<6x8xf32>, %q: tensor<8x4xf32>, %k: tensor<8x4xf32>, %bq: tensor<4xf32>, %bk: tensor<4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %0 = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %q[k, n]) outs(Y[m, n] from %bq[n]) do(Y += X * W)
    {layer = "q"} : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %1 = npu.contract (p = 4, r = 8, s = 6) ins(A = %x[s, r], W = %k[r, p]) outs(Y[s, p] from %bk[p]) do(Y += A * W)
    {layer = "k"} : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  func.return %0, %1 : tensor<6x4xf32>, tensor<6x4xf32>
}

// CHECK-LABEL: @siblings
// CHECK-NEXT: npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %q[k, n], W1 = %k[k, n]) outs(Y[m, n] from %bq[n], Y1[m, n] from %bk[n]) do(Y += X * W, Y1 += X * W1) {layer = "q+k"} : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)

// Both read the same matrix of dY through views of their own; the view of X moves to the place of the first.
func.func @views(%dy: tensor<24xf32>, %w: tensor<8x4xf32>, %x: tensor<48xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %0 = npu.view reshape(%dy) : (tensor<24xf32>) -> tensor<6x4xf32>
  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %0[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W) : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %1 = npu.view reshape(%x) : (tensor<48xf32>) -> tensor<6x8xf32>
  %2 = npu.view reshape(%dy) : (tensor<24xf32>) -> tensor<6x4xf32>
  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %1[m, k], dY = %2[m, n]) outs(dW[k, n]) do(dW += X * dY) : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @views
// CHECK-NEXT: [[DY:%.+]] = npu.view reshape(%dy)
// CHECK-NEXT: [[X:%.+]] = npu.view reshape(%x)
// CHECK-NEXT: %dx, %dw = npu.contract (m = 6, n = 4, k = 8) ins(dY = [[DY]][m, n], W = %w[k, n], X = [[X]][m, k])
// CHECK-NEXT: func.return
