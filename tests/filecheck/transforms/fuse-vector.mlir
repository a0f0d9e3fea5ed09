// RUN: npuc opt %s -p 'fuse-vector' | filecheck %s

builtin.module attributes {npu.target = {rows = 4 : i64, cols = 4 : i64, dataflow = "os", fill = "overlap", drain = "hidden", spm_bytes = 1024 : i64, double_buffer = true, clock_mhz = 1000.0 : f64, gb_per_s = 1.0 : f64, lanes = 4 : i64, element_bytes = 2 : i64}} {

// dW is finished block by block and has no other use: the update moves to it, before what stood between.
func.func @update(%x: tensor<8x8xf32>, %dy: tensor<8x4xf32>, %w: tensor<8x4xf32> {train.param = "w"}, %v: tensor<8x4xf32> {train.state = "w.momentum"}) -> (tensor<8x8xf32>, tensor<8x4xf32> {train.updates = 2 : i64}, tensor<8x4xf32> {train.updates = 3 : i64}) {
  %dw = npu.contract (m = 8, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    loops [k : 4] spm 1024 bytes {layer = "fc", role = "dw"} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %h = npu.vector relu(%x) ops 64 {layer = "h"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %w1, %v1 = npu.vector sgd(%w, %dw, %v) <{lr = 1.0 : f64, momentum = 0.5 : f64}> ops 128 {layer = "fc.weight", role = "update"} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  func.return %h, %w1, %v1 : tensor<8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @update
// CHECK-NEXT: %dw = npu.contract
// CHECK-SAME: spm 1024 bytes {layer = "fc", role = "dw"}
// CHECK-NEXT: %w1, %v1 = npu.vector sgd(%w, %dw, %v) <{lr = 1.000000e+00 : f64, momentum = 5.000000e-01 : f64}> ops 128 fused {layer = "fc.weight", role = "update"}
// CHECK-NEXT: %h = npu.vector relu(%x) ops 64 {layer = "h"}

// A chain: the sum and the activation follow each block; what reads a whole row does not.
func.func @chain(%x: tensor<8x8xf32>, %w: tensor<8x4xf32>, %r: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = npu.contract (m = 8, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 4] spm 1024 bytes {layer = "fc"} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = npu.vector add(%y, %r) ops 32 {layer = "sum"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %h = npu.vector relu(%s) ops 32 {layer = "h"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = npu.vector softmax(%h) ops 160 {layer = "p"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %p : tensor<8x4xf32>
}

// CHECK-LABEL: @chain
// CHECK-NEXT: %y = npu.contract
// CHECK-NEXT: %s = npu.vector add(%y, %r) ops 32 fused {layer = "sum"}
// CHECK-NEXT: %h = npu.vector relu(%s) ops 32 fused {layer = "h"}
// CHECK-NEXT: %p = npu.vector softmax(%h) ops 160 {layer = "p"}

// A contraction without a schedule is left as it is.
func.func @unscheduled(%x: tensor<8x8xf32>, %w: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y = npu.contract (m = 8, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    {layer = "fc"} : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %h = npu.vector relu(%y) ops 32 {layer = "h"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %h : tensor<8x4xf32>
}

// CHECK-LABEL: @unscheduled
// CHECK: %h = npu.vector relu(%y) ops 32 {layer = "h"}
}
