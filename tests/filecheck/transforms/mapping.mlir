// RUN: npuc opt %s -p 'lower-to-npu' | filecheck %s
// RUN: npuc opt %s -p 'lower-to-npu{conv=im2col}' | filecheck %s --check-prefix=IM2COL
// RUN: npuc opt %s -p 'lower-to-npu,lower-tiles' | filecheck %s --check-prefix=TILES

// What is written at a product is that of the product below, start and all; work of another layer that is alike keeps its own.

func.func @forward(%x: tensor<2x3x8x8xf32> {train.input = "x"}, %w: tensor<8x3x3x3xf32> {train.param = "c.weight"},
                   %b: tensor<8xf32> {train.param = "c.bias"}) -> (tensor<2x8x4x4xf32> {train.output = "y"}, tensor<2x8x4x4xf32> {train.output = "z"}) {
  %c = train.conv2d %x, %w stride [2, 2] padding [1, 1, 1, 1] {layer = "c", mapping = #mapping.clusters<4 [o : 4 / 1]>} : (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x4x4xf32>
  %column = train.reshape %b {layer = "c"} : (tensor<8xf32>) -> tensor<8x1x1xf32>
  %s = train.add %c, %column {layer = "c"} : (tensor<2x8x4x4xf32>, tensor<8x1x1xf32>) -> tensor<2x8x4x4xf32>
  %d = train.conv2d %x, %w stride [2, 2] padding [1, 1, 1, 1] {layer = "d", mapping = #mapping.clusters<2 [o : 4 / 2]>} : (tensor<2x3x8x8xf32>, tensor<8x3x3x3xf32>) -> tensor<2x8x4x4xf32>
  func.return %s, %d : tensor<2x8x4x4xf32>, tensor<2x8x4x4xf32>
}

// CHECK:      %s = npu.contract {{.*}} outs(Y[b, o, y, x] from %b[o]) do(Y += X * W) {layer = "c", mapping = #mapping.clusters<4 [o : 4 / 1]>}
// CHECK:      %d = npu.contract {{.*}} outs(Y[b, o, y, x]) do(Y += X * W) {layer = "d", mapping = #mapping.clusters<2 [o : 4 / 2]>}

// A matrix of windows is another product.
// IM2COL-NOT: mapping
// TILES-NOT:  mapping
