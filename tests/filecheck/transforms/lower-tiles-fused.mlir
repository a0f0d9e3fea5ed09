// RUN: npuc opt %s -p lower-tiles | filecheck %s
// RUN: npuc opt %s -p lower-tiles | npuc opt | filecheck %s

// dW has no other use: it is updated where it lies, and not stored.
func.func @update(%x: tensor<8x8xf32>, %dy: tensor<8x4xf32>, %w: tensor<8x4xf32>, %v: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %dw = npu.contract (m = 8, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    loops [k : 3] spm 2048 bytes {layer = "fc", role = "dw"} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %w1, %v1 = npu.vector sgd(%w, %dw, %v) <{lr = 1.0 : f64, momentum = 0.5 : f64}> ops 128 fused {layer = "w", role = "update"} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  func.return %w1, %v1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @update
// CHECK:        %w1 = npu.empty {layer = "w", role = "update"} : tensor<8x4xf32>
// CHECK-NEXT:   %v1 = npu.empty {layer = "w", role = "update"} : tensor<8x4xf32>
// CHECK-NEXT:   %dY_b = npu.load %dy[m, n] over (m = 0 : 8, n = 0 : 4) {tensor = "dY", layer = "fc", role = "dw"} : tensor<8x4xf32> -> !npu.block<8x4xf32>
// CHECK-NEXT:   %w1_1, %v1_1 = scf.for %k = %c0 to %c8 step %c3 iter_args(%w1_2 = %w1, %v1_2 = %v1) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
// CHECK-NEXT:     %X_b = npu.load
// CHECK-NEXT:     %dW_b = npu.zero [k, n] over (n = 0 : 4, k = %k : 3 in 8) {tensor = "dW", layer = "fc", role = "dw"} : !npu.block<3x4xf32>
// CHECK-NEXT:     %dW_b_1 = npu.mac %dW_b[k, n] += %X_b[m, k] * %dY_b[m, n]
// CHECK-NEXT:     %w_b = npu.load %w[k, n] over (n = 0 : 4, k = %k : 3 in 8) {tensor = "in0", layer = "w", role = "update"} : tensor<8x4xf32> -> !npu.block<3x4xf32>
// CHECK-NEXT:     %v_b = npu.load %v[k, n] over (n = 0 : 4, k = %k : 3 in 8) {tensor = "in2", layer = "w", role = "update"} : tensor<8x4xf32> -> !npu.block<3x4xf32>
// CHECK-NEXT:     %w1_b, %v1_b = npu.apply sgd(%w_b, %dW_b_1, %v_b) <{lr = 1.000000e+00 : f64, momentum = 5.000000e-01 : f64}> into (%w_b, %v_b) on 8x4[k, n] over (n = 0 : 4, k = %k : 3 in 8) {layer = "w", role = "update"} : (!npu.block<3x4xf32>, !npu.block<3x4xf32>, !npu.block<3x4xf32>) -> (!npu.block<3x4xf32>, !npu.block<3x4xf32>)
// CHECK-NEXT:     %w1_3 = npu.store %w1_b into %w1_2[k, n] over (n = 0 : 4, k = %k : 3 in 8) {tensor = "out0", layer = "w", role = "update"} : !npu.block<3x4xf32>, tensor<8x4xf32>
// CHECK-NEXT:     %v1_3 = npu.store %v1_b into %v1_2[k, n] over (n = 0 : 4, k = %k : 3 in 8) {tensor = "out1", layer = "w", role = "update"} : !npu.block<3x4xf32>, tensor<8x4xf32>
// CHECK-NEXT:     scf.yield {layer = "fc", role = "dw"} %w1_3, %v1_3
// CHECK-NEXT:   } {layer = "fc", role = "dw"}
// CHECK-NEXT:   %w1_4 = npu.finish %w1_1 {tensor = "out0", layer = "w", role = "update"} : tensor<8x4xf32>
// CHECK-NEXT:   %v1_4 = npu.finish %v1_1 {tensor = "out1", layer = "w", role = "update"} : tensor<8x4xf32>
// CHECK-NEXT:   func.return %w1_4, %v1_4 : tensor<8x4xf32>, tensor<8x4xf32>

// Y is returned, too: it is stored, and the sum has room of its own. The vector is read once; the sum takes no DRAM, and
// what is computed from it its place.
func.func @chain(%x: tensor<8x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %y = npu.contract (m = 8, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 4] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = npu.vector add(%y, %b) ops 32 fused : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %h = npu.vector relu(%s) ops 32 fused : (tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %y, %h : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @chain
// CHECK:        %b_b = npu.load %b[d0] over (d0 = 0 : 4) {tensor = "in1"} : tensor<4xf32> -> !npu.block<4xf32>
// CHECK:        scf.for %m
// CHECK:          %Y_b_1 = npu.mac
// CHECK-NEXT:     %Y_3 = npu.store %Y_b_1 into %Y_2[m, n] over (m = %m : 4, n = 0 : 4) {tensor = "Y"} : !npu.block<4x4xf32>, tensor<8x4xf32>
// CHECK-NEXT:     %s_b = npu.zero [m, n] over (m = %m : 4, n = 0 : 4) {tensor = "out0"} : !npu.block<4x4xf32>
// CHECK-NEXT:     %s_b_1 = npu.apply add(%Y_b_1, %b_b) into (%s_b) on 8x4[m, n] over (m = %m : 4, n = 0 : 4)
// CHECK-NEXT:     %h_b = npu.apply relu(%s_b_1) into (%s_b_1) on 8x4[m, n] over (m = %m : 4, n = 0 : 4)
// CHECK-NEXT:     %h_3 = npu.store %h_b into
// CHECK-NEXT:     scf.yield %Y_3, %h_3
