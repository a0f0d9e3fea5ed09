// RUN: npuc opt %s | filecheck %s
// RUN: npuc opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: npuc opt %s | npuc opt | filecheck %s

// The body is a whole sample; the two rows of %h that neighbouring bands read stay in SPM.
func.func @f(%x: tensor<2x1x8x6xf32>, %w: tensor<1x1x3x1xf32>) -> tensor<2x1x8x6xf32> {
  %y = npu.group micro 1 of 2 rows 3 of 8 axis 2 keep ins(%x[0], %w held) outs([0]) {
  ^bb0(%a : tensor<1x1x8x6xf32>, %v : tensor<1x1x3x1xf32>):
    %h = npu.vector relu(%a) ops 48 resident(out out0) : (tensor<1x1x8x6xf32>) -> tensor<1x1x8x6xf32>
    %p = npu.contract (b = 1, o = 1, i = 1, y = 8, x = 6, r = 3) ins(X = %h[b, i, y + r - 1, x], W = %v[o, i, r, 0]) outs(Y[b, o, y, x]) do(Y += X * W) loops [y : 2] resident(in X, in W, out W) : (tensor<1x1x8x6xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x8x6xf32>
    npu.yield %p : tensor<1x1x8x6xf32>
  } : (tensor<2x1x8x6xf32>, tensor<1x1x3x1xf32>) -> tensor<2x1x8x6xf32>
  func.return %y : tensor<2x1x8x6xf32>
}

// CHECK-LABEL: @f
// CHECK-NEXT: %y = npu.group micro 1 of 2 rows 3 of 8 axis 2 keep ins(%x[0], %w held) outs([0]) {
// CHECK: npu.contract {{.*}} resident(in X, in W, out W)
// GENERIC: "npu.group"(%x, %w) <{micro = 1 : i64, samples = 2 : i64, slices = array<i64: 0, -1>, joins = array<i64: 0>, held = array<i64: 1>, rows = array<i64: 3, 8, 2>, halo = "keep"}> ({

// Rows of a band: its new ones behind those that are there.
func.func @g(%new: tensor<4x8xf32>, %old: tensor<3x8xf32>) -> (tensor<5x8xf32>, tensor<2x8xf32>) {
  %w = npu.window %new after %old axis 0 from 1 : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
  %v = npu.window %new axis 0 from 2 : (tensor<4x8xf32>) -> tensor<2x8xf32>
  func.return %w, %v : tensor<5x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: @g
// CHECK: %w = npu.window %new after %old axis 0 from 1 : (tensor<4x8xf32>, tensor<3x8xf32>) -> tensor<5x8xf32>
// CHECK: %v = npu.window %new axis 0 from 2 : (tensor<4x8xf32>) -> tensor<2x8xf32>
