// RUN: npuc opt %s -p lower-tiles | filecheck %s
// RUN: npuc opt %s -p lower-tiles | npuc opt | filecheck %s

// The first schedule of a fused dX and dW: W, dW and a row of dY stay, X and dX move tile by tile.
func.func @fused(%dY: tensor<6x4xf64>, %W: tensor<8x4xf64>, %X: tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>) {
  %dX, %dW = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n], X = %X[m, k]) outs(dX[m, k], dW[k, n])
    do(dX += dY * W, dW += X * dY) loops [m : 2, k : 2, n : 2] keep(dY = 2, W = 3, dW = 3) spm 640 bytes
    {layer = "fc1", role = "dxdw"} : (tensor<6x4xf64>, tensor<8x4xf64>, tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>)
  func.return %dX, %dW : tensor<6x8xf64>, tensor<8x4xf64>
}

// CHECK-LABEL: func.func @fused(%dY: tensor<6x4xf64>, %W: tensor<8x4xf64>, %X: tensor<6x8xf64>) -> (tensor<6x8xf64>, tensor<8x4xf64>) {
// CHECK-NEXT:   %c0 = arith.constant {layer = "fc1", role = "dxdw"} 0 : index
// CHECK-NEXT:   %c6 = arith.constant {layer = "fc1", role = "dxdw"} 6 : index
// CHECK-NEXT:   %c2 = arith.constant {layer = "fc1", role = "dxdw"} 2 : index
// CHECK-NEXT:   %c8 = arith.constant {layer = "fc1", role = "dxdw"} 8 : index
// CHECK-NEXT:   %c4 = arith.constant {layer = "fc1", role = "dxdw"} 4 : index
// CHECK-NEXT:   %dX = npu.empty {layer = "fc1", role = "dxdw"} : tensor<6x8xf64>
// CHECK-NEXT:   %dW = npu.empty {layer = "fc1", role = "dxdw"} : tensor<8x4xf64>
// CHECK-NEXT:   %W_b = npu.load %W[k, n] over (n = 0 : 4, k = 0 : 8) {tensor = "W", layer = "fc1", role = "dxdw"} : tensor<8x4xf64> -> !npu.block<8x4xf64>
// CHECK-NEXT:   %dW_b = npu.zero [k, n] over (n = 0 : 4, k = 0 : 8) {tensor = "dW", layer = "fc1", role = "dxdw"} : !npu.block<8x4xf64>
// CHECK-NEXT:   %dX_1, %dW_b_1 = scf.for %m = %c0 to %c6 step %c2 iter_args(%dX_2 = %dX, %dW_b_2 = %dW_b) -> (tensor<6x8xf64>, !npu.block<8x4xf64>) {
// CHECK-NEXT:     %dY_b = npu.load %dY[m, n] over (m = %m : 2, n = 0 : 4) {tensor = "dY", layer = "fc1", role = "dxdw"} : tensor<6x4xf64> -> !npu.block<2x4xf64>
// CHECK-NEXT:     %dX_3, %dW_b_3 = scf.for %k = %c0 to %c8 step %c2 iter_args(%dX_4 = %dX_2, %dW_b_4 = %dW_b_2) -> (tensor<6x8xf64>, !npu.block<8x4xf64>) {
// CHECK-NEXT:       %X_b = npu.load %X[m, k] over (m = %m : 2, k = %k : 2) {tensor = "X", layer = "fc1", role = "dxdw"} : tensor<6x8xf64> -> !npu.block<2x2xf64>
// CHECK-NEXT:       %dX_b = npu.zero [m, k] over (m = %m : 2, k = %k : 2) {tensor = "dX", layer = "fc1", role = "dxdw"} : !npu.block<2x2xf64>
// CHECK-NEXT:       %dX_b_1, %dW_b_5 = scf.for %n = %c0 to %c4 step %c2 iter_args(%dX_b_2 = %dX_b, %dW_b_6 = %dW_b_4) -> (!npu.block<2x2xf64>, !npu.block<8x4xf64>) {
// CHECK-NEXT:         %dX_b_3 = npu.mac %dX_b_2[m, k] += %dY_b[m, n] * %W_b[k, n] over (m = %m : 2, n = %n : 2, k = %k : 2) {layer = "fc1", role = "dxdw"} : !npu.block<2x2xf64>, !npu.block<2x4xf64>, !npu.block<8x4xf64>
// CHECK-NEXT:         %dW_b_7 = npu.mac %dW_b_6[k, n] += %X_b[m, k] * %dY_b[m, n] over (m = %m : 2, n = %n : 2, k = %k : 2) {layer = "fc1", role = "dxdw"} : !npu.block<8x4xf64>, !npu.block<2x2xf64>, !npu.block<2x4xf64>
// CHECK-NEXT:         scf.yield {layer = "fc1", role = "dxdw"} %dX_b_3, %dW_b_7 : !npu.block<2x2xf64>, !npu.block<8x4xf64>
// CHECK-NEXT:       } {layer = "fc1", role = "dxdw"}
// CHECK-NEXT:       %dX_5 = npu.store %dX_b_1 into %dX_4[m, k] over (m = %m : 2, k = %k : 2) {tensor = "dX", layer = "fc1", role = "dxdw"} : !npu.block<2x2xf64>, tensor<6x8xf64>
// CHECK-NEXT:       scf.yield {layer = "fc1", role = "dxdw"} %dX_5, %dW_b_5 : tensor<6x8xf64>, !npu.block<8x4xf64>
// CHECK-NEXT:     } {layer = "fc1", role = "dxdw"}
// CHECK-NEXT:     scf.yield {layer = "fc1", role = "dxdw"} %dX_3, %dW_b_3 : tensor<6x8xf64>, !npu.block<8x4xf64>
// CHECK-NEXT:   } {layer = "fc1", role = "dxdw"}
// CHECK-NEXT:   %dW_1 = npu.store %dW_b_1 into %dW[k, n] over (n = 0 : 4, k = 0 : 8) {tensor = "dW", layer = "fc1", role = "dxdw"} : !npu.block<8x4xf64>, tensor<8x4xf64>
// CHECK-NEXT:   %dX_6 = npu.finish %dX_1 {tensor = "dX", layer = "fc1", role = "dxdw"} : tensor<6x8xf64>
// CHECK-NEXT:   %dW_2 = npu.finish %dW_1 {tensor = "dW", layer = "fc1", role = "dxdw"} : tensor<8x4xf64>
// CHECK-NEXT:   func.return %dX_6, %dW_2 : tensor<6x8xf64>, tensor<8x4xf64>
// CHECK-NEXT: }

// No schedule: one tile, no loops.
func.func @whole(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @whole(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
// CHECK-NEXT:   %Y = npu.empty : tensor<6x4xf32>
// CHECK-NEXT:   %X_b = npu.load %x[m, k] over (m = 0 : 6, k = 0 : 8) {tensor = "X"} : tensor<6x8xf32> -> !npu.block<6x8xf32>
// CHECK-NEXT:   %W_b = npu.load %w[k, n] over (n = 0 : 4, k = 0 : 8) {tensor = "W"} : tensor<8x4xf32> -> !npu.block<8x4xf32>
// CHECK-NEXT:   %Y_b = npu.zero [m, n] over (m = 0 : 6, n = 0 : 4) {tensor = "Y"} : !npu.block<6x4xf32>
// CHECK-NEXT:   %Y_b_1 = npu.mac %Y_b[m, n] += %X_b[m, k] * %W_b[k, n] over (m = 0 : 6, n = 0 : 4, k = 0 : 8) : !npu.block<6x4xf32>, !npu.block<6x8xf32>, !npu.block<8x4xf32>
// CHECK-NEXT:   %Y_1 = npu.store %Y_b_1 into %Y[m, n] over (m = 0 : 6, n = 0 : 4) {tensor = "Y"} : !npu.block<6x4xf32>, tensor<6x4xf32>
// CHECK-NEXT:   %y = npu.finish %Y_1 {tensor = "Y"} : tensor<6x4xf32>
// CHECK-NEXT:   func.return %y : tensor<6x4xf32>
// CHECK-NEXT: }

// Y is visited once for each step of k: its partial sums come back. The bias is read and given in the first step only;
// the last step of m is shorter.
func.func @start(%x: tensor<5x4xf32>, %w: tensor<4x2xf32>, %b: tensor<2xf32>) -> tensor<5x2xf32> {
  %y = npu.contract (m = 5, n = 2, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W)
    loops [k : 2, m : 4] : (tensor<5x4xf32>, tensor<4x2xf32>, tensor<2xf32>) -> tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}

// CHECK-LABEL: func.func @start(%x: tensor<5x4xf32>, %w: tensor<4x2xf32>, %b: tensor<2xf32>) -> tensor<5x2xf32> {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c4 = arith.constant 4 : index
// CHECK-NEXT:   %c2 = arith.constant 2 : index
// CHECK-NEXT:   %c5 = arith.constant 5 : index
// CHECK-NEXT:   %Y = npu.empty : tensor<5x2xf32>
// CHECK-NEXT:   %Y0_b = npu.load %b[n] over (n = 0 : 2) {tensor = "Y0"} : tensor<2xf32> -> !npu.block<2xf32>
// CHECK-NEXT:   %Y_1 = scf.for %k = %c0 to %c4 step %c2 iter_args(%Y_2 = %Y) -> (tensor<5x2xf32>) {
// CHECK-NEXT:     %W_b = npu.load %w[k, n] over (n = 0 : 2, k = %k : 2) {tensor = "W"} : tensor<4x2xf32> -> !npu.block<2x2xf32>
// CHECK-NEXT:     %Y_3 = scf.for %m = %c0 to %c5 step %c4 iter_args(%Y_4 = %Y_2) -> (tensor<5x2xf32>) {
// CHECK-NEXT:       %X_b = npu.load %x[m, k] over (m = %m : 4 in 5, k = %k : 2) {tensor = "X"} : tensor<5x4xf32> -> !npu.block<4x2xf32>
// CHECK-NEXT:       %Y_b = npu.load partial %Y_4[m, n] over (m = %m : 4 in 5, n = 0 : 2) {tensor = "Y"} : tensor<5x2xf32> -> !npu.block<4x2xf32>
// CHECK-NEXT:       %Y_b_1 = npu.start %Y_b[m, n] from %Y0_b[n] over (m = %m : 4 in 5, n = 0 : 2) : !npu.block<4x2xf32>, !npu.block<2xf32>
// CHECK-NEXT:       %Y_b_2 = npu.mac %Y_b_1[m, n] += %X_b[m, k] * %W_b[k, n] over (m = %m : 4 in 5, n = 0 : 2, k = %k : 2) : !npu.block<4x2xf32>, !npu.block<4x2xf32>, !npu.block<2x2xf32>
// CHECK-NEXT:       %Y_5 = npu.store %Y_b_2 into %Y_4[m, n] over (m = %m : 4 in 5, n = 0 : 2) {tensor = "Y"} : !npu.block<4x2xf32>, tensor<5x2xf32>
// CHECK-NEXT:       scf.yield %Y_5 : tensor<5x2xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %Y_3 : tensor<5x2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = npu.finish %Y_1 from %b axes [1] {tensor = "Y"} : tensor<5x2xf32>, tensor<2xf32>
// CHECK-NEXT:   func.return %y : tensor<5x2xf32>
// CHECK-NEXT: }

// m is cut twice and 7 is no multiple of 3: the last part is peeled, where X is loaded once for both steps of n.
func.func @seam(%x: tensor<7x4xf32>, %w: tensor<4x2xf32>) -> tensor<7x2xf32> {
  %y = npu.contract (m = 7, n = 2, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 3, n : 1, m : 2] : (tensor<7x4xf32>, tensor<4x2xf32>) -> tensor<7x2xf32>
  func.return %y : tensor<7x2xf32>
}

// CHECK-LABEL: func.func @seam(%x: tensor<7x4xf32>, %w: tensor<4x2xf32>) -> tensor<7x2xf32> {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c6 = arith.constant 6 : index
// CHECK-NEXT:   %c3 = arith.constant 3 : index
// CHECK-NEXT:   %c2 = arith.constant 2 : index
// CHECK-NEXT:   %c1 = arith.constant 1 : index
// CHECK-NEXT:   %Y = npu.empty : tensor<7x2xf32>
// CHECK-NEXT:   %Y_1 = scf.for %m = %c0 to %c6 step %c3 iter_args(%Y_2 = %Y) -> (tensor<7x2xf32>) {
// CHECK-NEXT:     %Y_3 = scf.for %n = %c0 to %c2 step %c1 iter_args(%Y_4 = %Y_2) -> (tensor<7x2xf32>) {
// CHECK-NEXT:       %W_b = npu.load %w[k, n] over (n = %n : 1, k = 0 : 4) {tensor = "W"} : tensor<4x2xf32> -> !npu.block<4x1xf32>
// CHECK-NEXT:       %m_end = arith.addi %m, %c3 : index
// CHECK-NEXT:       %Y_5 = scf.for %m_1 = %m to %m_end step %c2 iter_args(%Y_6 = %Y_4) -> (tensor<7x2xf32>) {
// CHECK-NEXT:         %X_b = npu.load %x[m, k] over (m = %m_1 : 2 in %m_end, k = 0 : 4) {tensor = "X"} : tensor<7x4xf32> -> !npu.block<2x4xf32>
// CHECK-NEXT:         %Y_b = npu.zero [m, n] over (m = %m_1 : 2 in %m_end, n = %n : 1) {tensor = "Y"} : !npu.block<2x1xf32>
// CHECK-NEXT:         %Y_b_1 = npu.mac %Y_b[m, n] += %X_b[m, k] * %W_b[k, n] over (m = %m_1 : 2 in %m_end, n = %n : 1, k = 0 : 4) : !npu.block<2x1xf32>, !npu.block<2x4xf32>, !npu.block<4x1xf32>
// CHECK-NEXT:         %Y_7 = npu.store %Y_b_1 into %Y_6[m, n] over (m = %m_1 : 2 in %m_end, n = %n : 1) {tensor = "Y"} : !npu.block<2x1xf32>, tensor<7x2xf32>
// CHECK-NEXT:         scf.yield %Y_7 : tensor<7x2xf32>
// CHECK-NEXT:       }
// CHECK-NEXT:       scf.yield %Y_5 : tensor<7x2xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.yield %Y_3 : tensor<7x2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %X_b_1 = npu.load %x[m, k] over (m = 6 : 1, k = 0 : 4) {tensor = "X"} : tensor<7x4xf32> -> !npu.block<1x4xf32>
// CHECK-NEXT:   %Y_8 = scf.for %n_1 = %c0 to %c2 step %c1 iter_args(%Y_9 = %Y_1) -> (tensor<7x2xf32>) {
// CHECK-NEXT:     %W_b_1 = npu.load %w[k, n] over (n = %n_1 : 1, k = 0 : 4) {tensor = "W"} : tensor<4x2xf32> -> !npu.block<4x1xf32>
// CHECK-NEXT:     %Y_b_2 = npu.zero [m, n] over (m = 6 : 1, n = %n_1 : 1) {tensor = "Y"} : !npu.block<1x1xf32>
// CHECK-NEXT:     %Y_b_3 = npu.mac %Y_b_2[m, n] += %X_b_1[m, k] * %W_b_1[k, n] over (m = 6 : 1, n = %n_1 : 1, k = 0 : 4) : !npu.block<1x1xf32>, !npu.block<1x4xf32>, !npu.block<4x1xf32>
// CHECK-NEXT:     %Y_10 = npu.store %Y_b_3 into %Y_9[m, n] over (m = 6 : 1, n = %n_1 : 1) {tensor = "Y"} : !npu.block<1x1xf32>, tensor<7x2xf32>
// CHECK-NEXT:     scf.yield %Y_10 : tensor<7x2xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = npu.finish %Y_8 {tensor = "Y"} : tensor<7x2xf32>
// CHECK-NEXT:   func.return %y : tensor<7x2xf32>
// CHECK-NEXT: }

// The windows of dX overlap: a block holds sums that were stored by the one before.
func.func @windows(%dy: tensor<1x4xf32>, %w: tensor<1x3xf32>) -> tensor<1x8xf32> {
  %dx = npu.contract (b = 1, y = 4, r = 3, i = 1) ins(dY = %dy[b, y], W = %w[i, r]) outs(dX[b, y * 2 + r - 1])
    do(dX += dY * W) loops [y : 2] : (tensor<1x4xf32>, tensor<1x3xf32>) -> tensor<1x8xf32>
  func.return %dx : tensor<1x8xf32>
}

// CHECK-LABEL: func.func @windows(%dy: tensor<1x4xf32>, %w: tensor<1x3xf32>) -> tensor<1x8xf32> {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c4 = arith.constant 4 : index
// CHECK-NEXT:   %c2 = arith.constant 2 : index
// CHECK-NEXT:   %dX = npu.empty : tensor<1x8xf32>
// CHECK-NEXT:   %W_b = npu.load %w[i, r] over (r = 0 : 3, i = 0 : 1) {tensor = "W"} : tensor<1x3xf32> -> !npu.block<1x3xf32>
// CHECK-NEXT:   %dX_1 = scf.for %y = %c0 to %c4 step %c2 iter_args(%dX_2 = %dX) -> (tensor<1x8xf32>) {
// CHECK-NEXT:     %dY_b = npu.load %dy[b, y] over (b = 0 : 1, y = %y : 2) {tensor = "dY"} : tensor<1x4xf32> -> !npu.block<1x2xf32>
// CHECK-NEXT:     %dX_b = npu.load partial %dX_2[b, y * 2 + r - 1] over (b = 0 : 1, y = %y : 2, r = 0 : 3) {tensor = "dX"} : tensor<1x8xf32> -> !npu.block<1x5xf32>
// CHECK-NEXT:     %dX_b_1 = npu.mac %dX_b[b, y * 2 + r - 1] += %dY_b[b, y] * %W_b[i, r] over (b = 0 : 1, y = %y : 2, r = 0 : 3, i = 0 : 1) : !npu.block<1x5xf32>, !npu.block<1x2xf32>, !npu.block<1x3xf32>
// CHECK-NEXT:     %dX_3 = npu.store %dX_b_1 into %dX_2[b, y * 2 + r - 1] over (b = 0 : 1, y = %y : 2, r = 0 : 3) {tensor = "dX"} : !npu.block<1x5xf32>, tensor<1x8xf32>
// CHECK-NEXT:     scf.yield %dX_3 : tensor<1x8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %dx = npu.finish %dX_1 {tensor = "dX"} : tensor<1x8xf32>
// CHECK-NEXT:   func.return %dx : tensor<1x8xf32>
// CHECK-NEXT: }

// A loop over cores: a core starts with nothing, so that the second reads back what the first added to Y.
func.func @cores(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [cores k : 4, m : 3] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @cores(
// CHECK:        %Y_1 = scf.for %k = %c0 to %c8 step %c4 iter_args(%Y_2 = %Y) -> (tensor<6x4xf32>) {
// CHECK-NEXT:     %W_b = npu.load %w[k, n] over (n = 0 : 4, k = %k : 4)
// CHECK-NEXT:     %Y_3 = scf.for %m = %c0 to %c6 step %c3
// CHECK-NEXT:       %X_b = npu.load %x[m, k] over (m = %m : 3, k = %k : 4)
// CHECK-NEXT:       %Y_b = npu.load partial %Y_4[m, n] over (m = %m : 3, n = 0 : 4)
// CHECK:        } {cores}
