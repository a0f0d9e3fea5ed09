// RUN: npuc opt %s | npuc opt | filecheck %s
// RUN: npuc opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: npuc opt %s --print-op-generic | npuc opt | filecheck %s

func.func @work(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>, %m: tensor<6xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector add(%y, %b) ops 24 fused {layer = "fc1"} : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %h = npu.vector relu(%z) ops 24 fused {layer = "relu1"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %s = npu.vector reduce(%h) ops 20 reads [24] writes [4] {role = "dw"} : (tensor<6x4xf32>) -> (tensor<4xf32>)
  %p = npu.vector layer_norm_dx(%h, %y, %b, %m, %m) ops 96 again [0, 1] groups 6 beside [2] {role = "dx"} : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<6x4xf32>
  func.return %h : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @work(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>, %m: tensor<6xf32>) -> tensor<6x4xf32> {
// CHECK-NEXT:   %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:   %z = npu.vector add(%y, %b) ops 24 fused {layer = "fc1"} : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:   %h = npu.vector relu(%z) ops 24 fused {layer = "relu1"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:   %s = npu.vector reduce(%h) ops 20 reads [24] writes [4] {role = "dw"} : (tensor<6x4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   %p = npu.vector layer_norm_dx(%h, %y, %b, %m, %m) ops 96 again [0, 1] groups 6 beside [2] {role = "dx"} : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:   func.return %h : tensor<6x4xf32>
// CHECK-NEXT: }

func.func @data(%x: tensor<6x8xf32>) -> tensor<24xf32> {
  %t = npu.move slice(%x) <{starts = array<i64: 0, 0>}> reads [24] writes [24] : (tensor<6x8xf32>) -> tensor<6x4xf32>
  %a, %b = npu.move split(%x) <{sizes = array<i64: 3, 3>, axis = 0 : i64}> : (tensor<6x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>)
  %v = npu.view reshape(%t) {layer = "flat"} : (tensor<6x4xf32>) -> tensor<24xf32>
  %c = npu.constant constant() <{value = 1.000000e+00 : f64}> : () -> tensor<8xf32>
  func.return %v : tensor<24xf32>
}

// CHECK-LABEL: func.func @data(%x: tensor<6x8xf32>) -> tensor<24xf32> {
// CHECK-NEXT:   %t = npu.move slice(%x) <{starts = array<i64: 0, 0>}> reads [24] writes [24] : (tensor<6x8xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:   %a, %b = npu.move split(%x) <{sizes = array<i64: 3, 3>, axis = 0 : i64}> : (tensor<6x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>)
// CHECK-NEXT:   %v = npu.view reshape(%t) {layer = "flat"} : (tensor<6x4xf32>) -> tensor<24xf32>
// CHECK-NEXT:   %c = npu.constant constant() <{value = 1.000000e+00 : f64}> : () -> tensor<8xf32>
// CHECK-NEXT:   func.return %v : tensor<24xf32>
// CHECK-NEXT: }

func.func @windows(%x: tensor<2x3x8x8xf32>, %g: tensor<2x6x4xf32>) -> tensor<2x3x8x8xf32> {
  %c = npu.im2col %x rows (b = 2, y = 4, x = 4) cols (i = 3, r = 3, s = 3) [b, i, y * 2 + r - 1, x * 2 + s - 1] {layer = "c"} : (tensor<2x3x8x8xf32>) -> tensor<32x27xf32>
  %d = npu.col2im %c rows (b = 2, y = 4, x = 4) cols (i = 3, r = 3, s = 3) [b, i, y * 2 + r - 1, x * 2 + s - 1] : (tensor<32x27xf32>) -> tensor<2x3x8x8xf32>
  %e = npu.im2col %g batch (g = 2) rows (y = 3) cols (i = 6, r = 2) [g, i, y + r] : (tensor<2x6x4xf32>) -> tensor<2x3x12xf32>
  func.return %d : tensor<2x3x8x8xf32>
}

// CHECK-LABEL: func.func @windows(%x: tensor<2x3x8x8xf32>, %g: tensor<2x6x4xf32>) -> tensor<2x3x8x8xf32> {
// CHECK-NEXT:   %c = npu.im2col %x rows (b = 2, y = 4, x = 4) cols (i = 3, r = 3, s = 3) [b, i, y * 2 + r - 1, x * 2 + s - 1] {layer = "c"} : (tensor<2x3x8x8xf32>) -> tensor<32x27xf32>
// CHECK-NEXT:   %d = npu.col2im %c rows (b = 2, y = 4, x = 4) cols (i = 3, r = 3, s = 3) [b, i, y * 2 + r - 1, x * 2 + s - 1] : (tensor<32x27xf32>) -> tensor<2x3x8x8xf32>
// CHECK-NEXT:   %e = npu.im2col %g batch (g = 2) rows (y = 3) cols (i = 6, r = 2) [g, i, y + r] : (tensor<2x6x4xf32>) -> tensor<2x3x12xf32>
// CHECK-NEXT:   func.return %d : tensor<2x3x8x8xf32>
// CHECK-NEXT: }

// GENERIC: %y = "npu.contract"(%x, %w) <{nest = #npu.nest<(m = 6, n = 4, k = 8) ins(X = 6x8[m, k], W = 8x4[k, n]) outs(Y = 6x4[m, n]) do(Y += X * W)>}> : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
// GENERIC: %z = "npu.vector"(%y, %b) <{kind = "add", params = {}, ops = 24 : i64, fused}> {layer = "fc1"} : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
// GENERIC: %h = "npu.vector"(%z) <{kind = "relu", params = {}, ops = 24 : i64, fused}> {layer = "relu1"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
// GENERIC: %s = "npu.vector"(%h) <{kind = "reduce", params = {}, ops = 20 : i64, reads = array<i64: 24>, writes = array<i64: 4>}> {role = "dw"} : (tensor<6x4xf32>) -> tensor<4xf32>
// GENERIC: %t = "npu.move"(%x) <{kind = "slice", params = {starts = array<i64: 0, 0>}, reads = array<i64: 24>, writes = array<i64: 24>}> : (tensor<6x8xf32>) -> tensor<6x4xf32>
// GENERIC: %a, %b = "npu.move"(%x) <{kind = "split", params = {sizes = array<i64: 3, 3>, axis = 0 : i64}}> : (tensor<6x8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>)
// GENERIC: %v = "npu.view"(%t) <{kind = "reshape", params = {}}> {layer = "flat"} : (tensor<6x4xf32>) -> tensor<24xf32>
// GENERIC: %c = "npu.constant"() <{kind = "constant", params = {value = 1.000000e+00 : f64}}> : () -> tensor<8xf32>
// GENERIC: %c = "npu.im2col"(%x) <{rows = #npu.dims<(b = 2, y = 4, x = 4)>, cols = #npu.dims<(i = 3, r = 3, s = 3)>, map = #npu.map<[b, i, y * 2 + r - 1, x * 2 + s - 1]>}> {layer = "c"} : (tensor<2x3x8x8xf32>) -> tensor<32x27xf32>
// GENERIC: %d = "npu.col2im"(%c) <{rows = #npu.dims<(b = 2, y = 4, x = 4)>, cols = #npu.dims<(i = 3, r = 3, s = 3)>, map = #npu.map<[b, i, y * 2 + r - 1, x * 2 + s - 1]>}> : (tensor<32x27xf32>) -> tensor<2x3x8x8xf32>
// GENERIC: %e = "npu.im2col"(%g) <{batch = #npu.dims<(g = 2)>, rows = #npu.dims<(y = 3)>, cols = #npu.dims<(i = 6, r = 2)>, map = #npu.map<[g, i, y + r]>}> : (tensor<2x6x4xf32>) -> tensor<2x3x12xf32>
