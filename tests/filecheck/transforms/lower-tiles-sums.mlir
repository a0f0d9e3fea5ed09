// RUN: npuc opt %s -p lower-tiles --split-input-file | filecheck %s
// RUN: npuc opt %s -p lower-tiles --split-input-file | npuc opt --split-input-file | filecheck %s

// A block that is finished as it leaves is converted and stored once.
func.func @finished(%x : tensor<6x8xbf16>, %w : tensor<8x4xbf16>) -> tensor<6x4xbf16> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2, k : 4] : (tensor<6x8xbf16>, tensor<8x4xbf16>) -> tensor<6x4xbf16>
  func.return %y : tensor<6x4xbf16>
}

// CHECK-LABEL: func.func @finished
// CHECK: npu.empty : tensor<6x4xbf16>
// CHECK: npu.zero {{.*}} : !npu.block<2x4xf32>
// CHECK: npu.mac {{.*}} : !npu.block<2x4xf32>, !npu.block<2x4xbf16>, !npu.block<4x4xbf16>
// CHECK: npu.convert {{.*}} : !npu.block<2x4xf32> -> !npu.block<2x4xbf16>
// CHECK: npu.store {{.*}} : !npu.block<2x4xbf16>, tensor<6x4xbf16>
// CHECK: npu.finish {{.*}} : tensor<6x4xbf16>

// -----

// Blocks that come back are partial sums in DRAM.
func.func @spilled(%x : tensor<6x8xbf16>, %w : tensor<8x4xbf16>, %b : tensor<4xbf16>) -> tensor<6x4xbf16> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W) loops [k : 4, m : 2] : (tensor<6x8xbf16>, tensor<8x4xbf16>, tensor<4xbf16>) -> tensor<6x4xbf16>
  func.return %y : tensor<6x4xbf16>
}

// CHECK-LABEL: func.func @spilled
// CHECK: npu.empty : tensor<6x4xf32>
// CHECK: npu.load partial {{.*}} : tensor<6x4xf32> -> !npu.block<2x4xf32>
// CHECK: npu.start {{.*}} : !npu.block<2x4xf32>, !npu.block<4xbf16>
// CHECK-NOT: npu.convert
// CHECK: npu.store {{.*}} : !npu.block<2x4xf32>, tensor<6x4xf32>
// CHECK: npu.finish {{.*}} : tensor<6x4xf32>, tensor<4xbf16> -> tensor<6x4xbf16>

// -----

// Accumulators of 16 bits have the type of such a result.
builtin.module attributes {npu.target = {accumulator_bits = 16 : i64}} {
  func.func @narrow(%x : tensor<6x8xf16>, %w : tensor<8x4xf16>, %v : tensor<8x4xf32>) -> (tensor<6x4xf16>, tensor<6x4xf32>) {
    %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [k : 4, m : 2] : (tensor<6x8xf16>, tensor<8x4xf16>) -> tensor<6x4xf16>
    %z = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) loops [k : 4, m : 2] : (tensor<6x8xf16>, tensor<8x4xf32>) -> tensor<6x4xf32>
    func.return %y, %z : tensor<6x4xf16>, tensor<6x4xf32>
  }
}

// CHECK-LABEL: func.func @narrow
// CHECK: npu.empty : tensor<6x4xf16>
// CHECK: npu.finish {{.*}} : tensor<6x4xf16>
// CHECK: npu.empty : tensor<6x4xbf16>
// CHECK: npu.finish {{.*}} : tensor<6x4xbf16> -> tensor<6x4xf32>
