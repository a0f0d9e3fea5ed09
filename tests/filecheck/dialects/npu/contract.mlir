// RUN: npuc opt %s | npuc opt | filecheck %s
// RUN: npuc opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: npuc opt %s --print-op-generic | npuc opt | filecheck %s

// dX and dW of a linear layer in one nest, scheduled.
func.func @fused(%dY: tensor<6x4xf64>, %W: tensor<8x4xf64>, %X: tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>) {
  %dX, %dW = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n], X = %X[m, k]) outs(dX[m, k], dW[k, n])
    do(dX += dY * W, dW += X * dY) loops [m : 2, k : 2, n : 2] keep(dY = 2, W = 3, dW = 3) spm 640 bytes
    {layer = "fc1", role = "dxdw"} : (tensor<6x4xf64>, tensor<8x4xf64>, tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>)
  func.return %dX, %dW : tensor<6x8xf64>, tensor<8x4xf64>
}

// CHECK-LABEL: func.func @fused(%dY: tensor<6x4xf64>, %W: tensor<8x4xf64>, %X: tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>) {
// CHECK-NEXT:   %dX, %dW = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n], X = %X[m, k]) outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY) loops [m : 2, k : 2, n : 2] keep(dY = 2, W = 3, dW = 3) spm 640 bytes {layer = "fc1", role = "dxdw"} : (tensor<6x4xf64>, tensor<8x4xf64>, tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>)
// CHECK-NEXT:   func.return %dX, %dW : tensor<6x8xf64>, tensor<8x4xf64>
// CHECK-NEXT: }

// A bias is the start of the sum; the result type may stand in parentheses.
func.func @bias(%x: tensor<64x784xf32>, %w: tensor<784x512xf32>, %b: tensor<512xf32>) -> tensor<64x512xf32> {
  %y = npu.contract (m = 64, n = 512, k = 784) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W)
    loops [m : 64, n : 128, k : 128] : (tensor<64x784xf32>, tensor<784x512xf32>, tensor<512xf32>) -> (tensor<64x512xf32>)
  func.return %y : tensor<64x512xf32>
}

// CHECK-LABEL: func.func @bias(%x: tensor<64x784xf32>, %w: tensor<784x512xf32>, %b: tensor<512xf32>) -> tensor<64x512xf32> {
// CHECK-NEXT:   %y = npu.contract (m = 64, n = 512, k = 784) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W) loops [m : 64, n : 128, k : 128] : (tensor<64x784xf32>, tensor<784x512xf32>, tensor<512xf32>) -> tensor<64x512xf32>
// CHECK-NEXT:   func.return %y : tensor<64x512xf32>
// CHECK-NEXT: }

// Both gradients of a convolution of stride 2 and padding 1.
func.func @convolution(%dy: tensor<2x8x4x4xf32>, %w: tensor<8x3x3x3xf32>, %x: tensor<2x3x8x8xf32>) -> (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) {
  %dx, %dw = npu.contract (b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3)
    ins(dY = %dy[b, o, y, x], W = %w[o, i, r, s], X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1])
    outs(dX[b, i, -1 + y * 2 + r, x * 2 + s - 1], dW[o, i, r, s]) do(dX += dY * W, dW += X * dY)
    loops [b : 1, y : 2, o : 4] keep(W = 2, dW = 3)
    : (tensor<2x8x4x4xf32>, tensor<8x3x3x3xf32>, tensor<2x3x8x8xf32>) -> (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>)
  func.return %dx, %dw : tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>
}

// CHECK-LABEL: func.func @convolution(%dy: tensor<2x8x4x4xf32>, %w: tensor<8x3x3x3xf32>, %x: tensor<2x3x8x8xf32>) -> (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) {
// CHECK-NEXT:   %dx, %dw = npu.contract (b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3) ins(dY = %dy[b, o, y, x], W = %w[o, i, r, s], X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1]) outs(dX[b, i, y * 2 + r - 1, x * 2 + s - 1], dW[o, i, r, s]) do(dX += dY * W, dW += X * dY) loops [b : 1, y : 2, o : 4] keep(W = 2, dW = 3) : (tensor<2x8x4x4xf32>, tensor<8x3x3x3xf32>, tensor<2x3x8x8xf32>) -> (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>)
// CHECK-NEXT:   func.return %dx, %dw : tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>
// CHECK-NEXT: }

// A dimension cut twice, an axis that no dimension moves, a scalar.
func.func @odd(%x: tensor<5x7xf32>, %s: tensor<f32>) -> tensor<7xf32> {
  %y = npu.contract (m = 7) ins(X = %x[2, m], S = %s[]) outs(Y[m]) do(Y += X * S) loops [m : 4, m : 3] spm 36 bytes
    : (tensor<5x7xf32>, tensor<f32>) -> tensor<7xf32>
  func.return %y : tensor<7xf32>
}

// CHECK-LABEL: func.func @odd(%x: tensor<5x7xf32>, %s: tensor<f32>) -> tensor<7xf32> {
// CHECK-NEXT:   %y = npu.contract (m = 7) ins(X = %x[2, m], S = %s[]) outs(Y[m]) do(Y += X * S) loops [m : 4, m : 3] spm 36 bytes : (tensor<5x7xf32>, tensor<f32>) -> tensor<7xf32>
// CHECK-NEXT:   func.return %y : tensor<7xf32>
// CHECK-NEXT: }

// GENERIC: %dX, %dW = "npu.contract"(%dY, %W, %X) <{nest = #npu.nest<(m = 6, n = 4, k = 8) ins(dY = 6x4[m, n], W = 8x4[k, n], X = 6x8[m, k]) outs(dX = 6x8[m, k], dW = 8x4[k, n]) do(dX += dY * W, dW += X * dY)>, schedule = #npu.schedule<loops [m : 2, k : 2, n : 2] keep(dY = 2, W = 3, dW = 3) spm 640 bytes>}> {layer = "fc1", role = "dxdw"} : (tensor<6x4xf64>, tensor<8x4xf64>, tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>)
// GENERIC: %y = "npu.contract"(%x, %w, %b) <{nest = #npu.nest<(m = 64, n = 512, k = 784) ins(X = 64x784[m, k], W = 784x512[k, n]) outs(Y = 64x512[m, n] from 512[n]) do(Y += X * W)>, schedule = #npu.schedule<loops [m : 64, n : 128, k : 128]>}> : (tensor<64x784xf32>, tensor<784x512xf32>, tensor<512xf32>) -> tensor<64x512xf32>
// GENERIC: %dx, %dw = "npu.contract"(%dy, %w, %x) <{nest = #npu.nest<(b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3) ins(dY = 2x8x4x4[b, o, y, x], W = 8x3x3x3[o, i, r, s], X = 2x3x8x8[b, i, y * 2 + r - 1, x * 2 + s - 1]) outs(dX = 2x3x8x8[b, i, y * 2 + r - 1, x * 2 + s - 1], dW = 8x3x3x3[o, i, r, s]) do(dX += dY * W, dW += X * dY)>, schedule = #npu.schedule<loops [b : 1, y : 2, o : 4] keep(W = 2, dW = 3)>}> : (tensor<2x8x4x4xf32>, tensor<8x3x3x3xf32>, tensor<2x3x8x8xf32>) -> (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>)
// GENERIC: %y = "npu.contract"(%x, %s) <{nest = #npu.nest<(m = 7) ins(X = 5x7[2, m], S = []) outs(Y = 7[m]) do(Y += X * S)>, schedule = #npu.schedule<loops [m : 4, m : 3] spm 36 bytes>}> : (tensor<5x7xf32>, tensor<f32>) -> tensor<7xf32>

// Four parts of m side by side, each cut in tiles; a dimension may be called `cores` as well.
func.func @cores(%x: tensor<64x8xf32>, %w: tensor<8x4xf32>) -> tensor<64x4xf32> {
  %y = npu.contract (m = 64, n = 4, cores = 8) ins(X = %x[m, cores], W = %w[cores, n]) outs(Y[m, n]) do(Y += X * W)
    loops [cores m : 16, cores cores : 4, m : 4, cores : 2] keep(W = 1) spm 384 bytes : (tensor<64x8xf32>, tensor<8x4xf32>) -> tensor<64x4xf32>
  func.return %y : tensor<64x4xf32>
}

// CHECK-LABEL: func.func @cores(
// CHECK-NEXT:   %y = npu.contract (m = 64, n = 4, cores = 8) ins(X = %x[m, cores], W = %w[cores, n]) outs(Y[m, n]) do(Y += X * W) loops [cores m : 16, cores cores : 4, m : 4, cores : 2] keep(W = 1) spm 384 bytes : (tensor<64x8xf32>, tensor<8x4xf32>) -> tensor<64x4xf32>

// A nest that is one tile has the schedule without loops; one that has no schedule yet says nothing.
func.func @one_tile(%x: tensor<6x4xf32>, %w: tensor<4x5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
  %y = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %z = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  func.return %y, %z : tensor<6x5xf32>, tensor<6x5xf32>
}

// CHECK-LABEL: func.func @one_tile
// CHECK-NEXT:   %y = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [] : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
// CHECK-NEXT:   %z = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
// GENERIC: %y = "npu.contract"(%x, %w) <{nest = #npu.nest<(m = 6, n = 5, k = 4) ins(X = 6x4[m, k], W = 4x5[k, n]) outs(Y = 6x5[m, n]) do(Y += X * W)>, schedule = #npu.schedule<loops []>}>
// GENERIC: %z = "npu.contract"(%x, %w) <{nest = #npu.nest<(m = 6, n = 5, k = 4) ins(X = 6x4[m, k], W = 4x5[k, n]) outs(Y = 6x5[m, n]) do(Y += X * W)>}>

// What stays in SPM, then in each memory further outwards.
func.func @levels(%x: tensor<6x4xf32>, %w: tensor<4x5xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>) {
  %y = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 2, n : 1, k : 2] keep(W = 1) keep L2 (W = 2, X = 1) keep L3(W = 3) spm 400 bytes : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  %z = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 2] keep L2(Y = 1) : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
  func.return %y, %z : tensor<6x5xf32>, tensor<6x5xf32>
}

// CHECK-LABEL: func.func @levels
// CHECK-NEXT:   %y = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2, n : 1, k : 2] keep(W = 1) keep L2(W = 2, X = 1) keep L3(W = 3) spm 400 bytes : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
// CHECK-NEXT:   %z = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2] keep L2(Y = 1) : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
// GENERIC: schedule = #npu.schedule<loops [m : 2, n : 1, k : 2] keep(W = 1) keep L2(W = 2, X = 1) keep L3(W = 3) spm 400 bytes>
