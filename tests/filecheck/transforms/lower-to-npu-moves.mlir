// RUN: npuc opt %s -p lower-to-npu | filecheck %s
// RUN: npuc opt %s -p lower-to-npu,lower-tiles | npuc opt -f mlir | filecheck %s

// Moves with several results, and constants: what is known is computed from what is known, and what a move can write
// by itself is not read.

func.func @moves(%x: tensor<2x3x4xf32> {train.input = "x"}) -> (tensor<2x4x3xf32> {train.output = "y"}, tensor<2x4xf32> {train.output = "m"}) {
  %a, %b, %c = train.unbind %x axis 1 {layer = "u"} : (tensor<2x3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %zero = train.constant value 0.0 {layer = "s"} : () -> tensor<2x4xf32>
  %y = train.stack %c, %zero, %a axis 2 {layer = "s"} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4x3xf32>
  %i = train.arange {layer = "t"} : () -> tensor<4xf32>
  %row = train.reshape %i {layer = "t"} : (tensor<4xf32>) -> tensor<1x4xf32>
  %t = train.affine %row scale 2.0 {layer = "t"} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %m = train.mul %b, %t {layer = "m"} : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  func.return %y, %m : tensor<2x4x3xf32>, tensor<2x4xf32>
}

// CHECK:      %a, %b, %c = npu.move unbind(%x) <{axis = 1 : i64}> {layer = "u"} : (tensor<2x3x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK-NEXT: %zero = npu.constant constant() <{value = 0.000000e+00 : f64}> {layer = "s"} : () -> tensor<2x4xf32>
// CHECK-NEXT: %y = npu.move stack(%c, %zero, %a) <{axis = 2 : i64}> reads [8, 0, 8] {layer = "s"}
// CHECK-NEXT: %i = npu.constant arange()
// CHECK-NEXT: %row = npu.constant reshape(%i) {layer = "t"} : (tensor<4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: %t = npu.constant affine(%row)
// CHECK-NEXT: %m = npu.vector mul(%b, %t) ops 8 {layer = "m"}
// CHECK-NEXT: func.return %y, %m
