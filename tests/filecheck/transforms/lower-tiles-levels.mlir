// RUN: npuc opt %s -p lower-tiles | filecheck %s
// RUN: npuc opt %s -p lower-tiles | npuc opt | filecheck %s

// Rows of X stay in L2 over n, and the sums of these rows do; SPM has a tile of each.
func.func @gemm(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 2, k : 4, n : 2] keep L2(X = 2, Y = 2) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @gemm(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
// CHECK-NEXT:   %c0 = arith.constant 0 : index
// CHECK-NEXT:   %c6 = arith.constant 6 : index
// CHECK-NEXT:   %c2 = arith.constant 2 : index
// CHECK-NEXT:   %c8 = arith.constant 8 : index
// CHECK-NEXT:   %c4 = arith.constant 4 : index
// CHECK-NEXT:   %Y = npu.empty : tensor<6x4xf32>
// CHECK-NEXT:   %Y_1 = scf.for %m = %c0 to %c6 step %c2 iter_args(%Y_2 = %Y) -> (tensor<6x4xf32>) {
// CHECK-NEXT:     %X_L2 = npu.load %x[m, k] over (m = %m : 2, k = 0 : 8) {tensor = "X", level = "L2"} : tensor<6x8xf32> -> !npu.block<2x8xf32>
// CHECK-NEXT:     %Y_L2 = npu.load partial %Y_2[m, n] over (m = %m : 2, n = 0 : 4) {tensor = "Y", level = "L2"} : tensor<6x4xf32> -> !npu.block<2x4xf32>
// CHECK-NEXT:     %Y_3 = scf.for %k = %c0 to %c8 step %c4 iter_args(%Y_4 = %Y_L2) -> (!npu.block<2x4xf32>) {
// CHECK-NEXT:       %X_b = npu.fetch %X_L2[m, k] over (m = %m : 2, k = %k : 4) {tensor = "X"} : !npu.block<2x8xf32> -> !npu.block<2x4xf32>
// CHECK-NEXT:       %Y_5 = scf.for %n = %c0 to %c4 step %c2 iter_args(%Y_6 = %Y_4) -> (!npu.block<2x4xf32>) {
// CHECK-NEXT:         %W_L2 = npu.load %w[k, n] over (n = %n : 2, k = %k : 4) {tensor = "W", level = "L2"} : tensor<8x4xf32> -> !npu.block<4x2xf32>
// CHECK-NEXT:         %W_b = npu.fetch %W_L2[k, n] over (n = %n : 2, k = %k : 4) {tensor = "W"} : !npu.block<4x2xf32> -> !npu.block<4x2xf32>
// CHECK-NEXT:         %Y_b = npu.fetch partial %Y_6[m, n] over (m = %m : 2, n = %n : 2) {tensor = "Y"} : !npu.block<2x4xf32> -> !npu.block<2x2xf32>
// CHECK-NEXT:         %Y_b_1 = npu.mac %Y_b[m, n] += %X_b[m, k] * %W_b[k, n] over (m = %m : 2, n = %n : 2, k = %k : 4) : !npu.block<2x2xf32>, !npu.block<2x4xf32>, !npu.block<4x2xf32>
// CHECK-NEXT:         %Y_7 = npu.put %Y_b_1 into %Y_6[m, n] over (m = %m : 2, n = %n : 2) {tensor = "Y"} : !npu.block<2x2xf32>, !npu.block<2x4xf32>
// CHECK-NEXT:         scf.yield %Y_7 : !npu.block<2x4xf32>
// CHECK-NEXT:       }
// CHECK-NEXT:       scf.yield %Y_5 : !npu.block<2x4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %Y_8 = npu.store %Y_3 into %Y_2[m, n] over (m = %m : 2, n = 0 : 4) {tensor = "Y", level = "L2"} : !npu.block<2x4xf32>, tensor<6x4xf32>
// CHECK-NEXT:     scf.yield %Y_8 : tensor<6x4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = npu.finish %Y_1 {tensor = "Y"} : tensor<6x4xf32>
// CHECK-NEXT:   func.return %y : tensor<6x4xf32>
// CHECK-NEXT: }
// CHECK-NEXT: }
