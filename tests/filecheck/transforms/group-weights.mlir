// RUN: npuc opt %s -p 'set-target{rows=32 cols=16 spm-bytes=65536 clock-mhz=1000 gb-per-s=10 lanes=16 dataflow="ws"},group-weights' | filecheck %s

// m streams: its loops go inwards, in their order. What is kept stays as written.
func.func @forward(%x: tensor<64x64xf32>, %w: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %y = npu.contract (m = 64, n = 32, k = 64) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 32, n : 16, m : 16, k : 32] keep(Y = 1) : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  func.return %y : tensor<64x32xf32>
}

// CHECK-LABEL: @forward
// CHECK: loops [n : 16, k : 32, m : 32, m : 16] keep(Y = 1)

// dW streams k: dY stays in the elements.
func.func @dw(%x: tensor<64x64xf32>, %dy: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %dw = npu.contract (m = 64, n = 32, k = 64) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    loops [k : 32, m : 16] : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  func.return %dw : tensor<64x32xf32>
}

// CHECK-LABEL: @dw
// CHECK: loops [m : 16, k : 32]

// The promise of SPM would not hold with X kept over the new inner loop: nothing is kept.
func.func @room(%x: tensor<64x64xf32>, %w: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %y = npu.contract (m = 64, n = 32, k = 64) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 16, n : 16] keep(X = 1) spm 9216 bytes : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  func.return %y : tensor<64x32xf32>
}

// CHECK-LABEL: @room
// CHECK: loops [n : 16, m : 16] spm 9216 bytes
