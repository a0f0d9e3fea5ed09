// RUN: npuc opt %s | filecheck %s
// RUN: npuc opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: npuc opt %s | npuc opt | filecheck %s

// The weights are held, the activation passes in SPM, and dW is a sum over micro-batches.
func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 352 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 352 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } {layer = "fc"} : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return %y, %dw : tensor<6x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @f
// CHECK-NEXT: %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
// CHECK-NEXT: ^bb0(%a: tensor<2x8xf32>, %v: tensor<8x4xf32>, %b: tensor<2x4xf32>):
// CHECK-NEXT: %h = npu.vector relu(%a) ops 16 resident(out out0)
// CHECK-NEXT: %p = npu.contract {{.*}} resident(in X, in W, out X, out W)
// CHECK-NEXT: %q = npu.contract {{.*}} resident(in X, out dW)
// CHECK-NEXT: npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
// CHECK-NEXT: } {layer = "fc"} : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
// GENERIC: "npu.group"(%x, %w, %g) <{micro = 2 : i64, samples = 6 : i64, slices = array<i64: 0, -1, 0>, joins = array<i64: 0, -1>, held = array<i64: 1>}> ({
