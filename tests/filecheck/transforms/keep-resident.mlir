// RUN: npuc opt %s -p 'keep-resident' | filecheck %s
// RUN: npuc opt %s -p 'keep-resident{what=pairs}' | filecheck %s --check-prefix=PAIRS
// RUN: npuc opt %s -p 'keep-resident{only=other}' | filecheck %s --check-prefix=NONE

builtin.module attributes {npu.target = {rows = 4 : i64, cols = 4 : i64, dataflow = "os", fill = "overlap", drain = "hidden", spm_bytes = 1024 : i64, double_buffer = true, clock_mhz = 1000.0 : f64, gb_per_s = 1.0 : f64, lanes = 4 : i64, element_bytes = 2 : i64}} {

// dY of one layer, through the activation's derivative, from dX of the next one: it reaches both products.
func.func @chain(%dz: tensor<6x4xf32>, %v: tensor<8x4xf32>, %h: tensor<6x8xf32>, %w: tensor<8x8xf32>, %x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x8xf32>) {
  %dh = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dz[m, n], W = %v[k, n]) outs(dX[m, k]) do(dX += dY * W)
    loops [m : 2] spm 2048 bytes {layer = "fc2", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %dy = npu.vector relu_grad(%dh, %h) ops 48 {layer = "h", role = "dx"} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %dx = npu.contract (m = 6, n = 8, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    loops [m : 2] spm 2048 bytes {layer = "fc1", role = "dx"} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %dw = npu.contract (m = 6, n = 8, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    loops [n : 4] spm 2048 bytes {layer = "fc1", role = "dw"} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<8x8xf32>
  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: @chain
// CHECK: %dh = npu.contract {{.*}} resident(out dX) {layer = "fc2"
// CHECK-NEXT: %dy = npu.vector relu_grad(%dh, %h) ops 48 resident(in in0, out out0 over in0) {layer = "h"
// CHECK-NEXT: %dx = npu.contract {{.*}} resident(in dY, out dY) {layer = "fc1"
// CHECK-NEXT: %dw = npu.contract {{.*}} resident(in dY) {layer = "fc1"

// PAIRS-LABEL: @chain
// PAIRS: ops 48 {layer = "h"
// PAIRS-NEXT: %dx = npu.contract {{.*}} resident(out dY) {layer = "fc1"
// PAIRS-NEXT: %dw = npu.contract {{.*}} resident(in dY) {layer = "fc1"

// NONE-NOT: resident(

// A contraction without a schedule neither finds nor leaves anything.
func.func @unscheduled(%x: tensor<6x8xf32>, %w: tensor<8x8xf32>) -> tensor<6x8xf32> {
  %y = npu.contract (m = 6, n = 8, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    {layer = "fc"} : (tensor<6x8xf32>, tensor<8x8xf32>) -> tensor<6x8xf32>
  %h = npu.vector relu(%y) ops 48 {layer = "h"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return %h : tensor<6x8xf32>
}

// CHECK-LABEL: @unscheduled
// CHECK-NOT: resident(
}
