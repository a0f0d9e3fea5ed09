// RUN: npuc opt %s | filecheck %s
// RUN: npuc opt %s --print-op-generic | filecheck %s --check-prefix GENERIC

// A block that both keep whole is held once: 40 elements, not 64.
func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %dX, %dW = npu.interleave spm 160 bytes {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] keep(dY = 3) : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] keep(dY = 3) : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } {layer = "fc", role = "dxdw"} : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return %dX, %dW : tensor<6x8xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @f
// CHECK-NEXT: %dX, %dW = npu.interleave spm 160 bytes {
// CHECK-NEXT: %a = npu.contract
// CHECK-NEXT: %b = npu.contract
// CHECK-NEXT: npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
// CHECK-NEXT: } {layer = "fc", role = "dxdw"} : (tensor<6x8xf32>, tensor<8x4xf32>)
// GENERIC: "npu.interleave"() <{spm = 160 : i64}> ({

func.func @streams(%X: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %0 = npu.streams {
    npu.yield
  } and {
    npu.yield %X : tensor<6x8xf32>
  } {layer = "fc"} : (tensor<6x8xf32>)
  func.return %0 : tensor<6x8xf32>
}

// CHECK-LABEL: @streams
// CHECK-NEXT: npu.streams {
// CHECK-NEXT: npu.yield
// CHECK-NEXT: } and {
// CHECK-NEXT: npu.yield %X : tensor<6x8xf32>
// CHECK-NEXT: } {layer = "fc"} : (tensor<6x8xf32>)
