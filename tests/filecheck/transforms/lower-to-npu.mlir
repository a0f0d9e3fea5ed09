// RUN: npuc opt %s -p lower-to-npu | filecheck %s
// RUN: npuc opt %s -p 'lower-to-npu{conv=im2col}' | filecheck %s --check-prefix=IM2COL

func.func @forward(%x: tensor<2x3x8x8xf32> {train.input = "x"}, %w: tensor<8x3x3x3xf32> {train.param = "c.weight"},
                   %b: tensor<8xf32> {train.param = "c.bias"}) -> (tensor<2x128xf32> {train.output = "y"}) {
  %c = train.conv2d %x, %w stride [2, 2] padding [1, 1, 1, 1] {layer = "c"} : (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x4x4xf32>
  %column = train.reshape %b {layer = "c"} : (tensor<8xf32>) -> tensor<8x1x1xf32>
  %s = train.add %c, %column {layer = "c"} : (tensor<2x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<2x8x4x4xf32>
  %r = train.relu %s {layer = "r"} : (tensor<2x8x4x4xf32>) -> tensor<2x8x4x4xf32>
  %t = train.transpose %r axes [0, 2, 3, 1] {layer = "t"} : (tensor<2x8x4x4xf32>) -> tensor<2x4x4x8xf32>
  %y = train.reshape %t {layer = "f"} : (tensor<2x4x4x8xf32>) -> tensor<2x128xf32>
  func.return %y : tensor<2x128xf32>
}

// CHECK:      %s = npu.contract (b = 2, o = 8, i = 3, y = 4, x = 4, r = 3, s = 3)
// CHECK-SAME:   ins(X = %x[b, i, y * 2 + r - 1, x * 2 + s - 1], W = %w[o, i, r, s]) outs(Y[b, o, y, x] from %b[o]) do(Y += X * W)
// CHECK-SAME:   {layer = "c"}
// CHECK-NEXT: %r = npu.vector relu(%s) ops 256 {layer = "r"}
// CHECK-NEXT: %t = npu.move transpose(%r) <{axes = array<i64: 0, 2, 3, 1>}> {layer = "t"}
// CHECK-NEXT: %y = npu.view reshape(%t) {layer = "f"}
// CHECK-NEXT: func.return %y

// IM2COL:      npu.im2col %x rows (b = 2, y = 4, x = 4) cols (i = 3, r = 3, s = 3)
// IM2COL-SAME:   [b, i, y * 2 + r - 1, x * 2 + s - 1] {layer = "c"} : (tensor<2x3x8x8xf32>) -> tensor<32x27xf32>
// IM2COL-NEXT: npu.view reshape
// IM2COL-NEXT: npu.view reshape(%w)
// IM2COL-NEXT: npu.contract (b = 2, m = 16, n = 8, k = 27)
// IM2COL-SAME:   outs(Y[b, n, m]) do(Y += X * W)
