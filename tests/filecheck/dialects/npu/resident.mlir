// RUN: npuc opt %s | npuc opt | filecheck %s
// RUN: npuc opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: npuc opt %s --print-op-generic | npuc opt | filecheck %s

// dY stays for dW, which dX passes; a view of dX is dX, and the activation's derivative is written over it.
func.func @stays(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>) -> (tensor<48xf32>, tensor<8x4xf32>) {
  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    loops [k : 2] spm 352 bytes resident(out dY, out dX) {layer = "fc"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    loops [m : 2, k : 2, n : 2] spm 320 bytes resident(in dY) {layer = "fc"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %v = npu.view reshape(%dx) : (tensor<6x8xf32>) -> tensor<48xf32>
  %g = npu.vector relu(%v) ops 48 resident(in in0, out out0 over in0) {layer = "g"} : (tensor<48xf32>) -> tensor<48xf32>
  %h = npu.vector add(%g, %g) ops 48 resident(in in0) : (tensor<48xf32>, tensor<48xf32>) -> tensor<48xf32>
  func.return %h, %dw : tensor<48xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @stays
// CHECK: do(dX += dY * W) loops [k : 2] spm 352 bytes resident(out dY, out dX) {layer = "fc"}
// CHECK: do(dW += X * dY) loops [m : 2, k : 2, n : 2] spm 320 bytes resident(in dY) {layer = "fc"}
// CHECK: %g = npu.vector relu(%v) ops 48 resident(in in0, out out0 over in0) {layer = "g"}
// CHECK: %h = npu.vector add(%g, %g) ops 48 resident(in in0) :

// GENERIC: schedule = #npu.schedule<loops [k : 2] spm 352 bytes>, resident = #npu.resident<resident(out dY, out dX)>}>
// GENERIC: ops = 48 : i64, resident = #npu.resident<resident(in in0, out out0 over in0)>}>
