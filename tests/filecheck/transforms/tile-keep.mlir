// RUN: npuc opt %s -p 'tile{steps="m:2,k:9,n:2"},keep{tensors="W:1,X:0"}' | filecheck %s
// RUN: npuc opt %s -p 'set-target{rows=2 cols=2 spm-bytes=800 clock-mhz=1 gb-per-s=1 lanes=1},tile{steps="m:3" only="f*"}' | filecheck %s --check-prefix MACHINE

// A step of the whole takes the loop of k away, n gets one innermost. The promise stands.
func.func @linear(%x: tensor<6x9xf32>, %w: tensor<9x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 9) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 3, k : 2] keep(X = 2) spm 320 bytes {layer = "fc"} : (tensor<6x9xf32>, tensor<9x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// CHECK-LABEL: @linear
// CHECK: loops [m : 2, n : 2] keep(W = 1) spm 320 bytes {layer = "fc"}
// MACHINE-LABEL: @linear
// MACHINE: loops [m : 3, k : 2] keep(X = 2) spm 320 bytes {layer = "fc"}

// m is b, y, x: a row of two positions. Without a promise that of the machine.
func.func @convolution(%x: tensor<4x3x6x6xf32>, %w: tensor<2x3x3x3xf32>) -> tensor<4x2x4x4xf32> {
  %y = npu.contract (b = 4, o = 2, i = 3, y = 4, x = 4, r = 3, s = 3) ins(X = %x[b, i, y + r, x + s], W = %w[o, i, r, s])
    outs(Y[b, o, y, x]) do(Y += X * W) loops [i : 1] {layer = "first"}
    : (tensor<4x3x6x6xf32>, tensor<2x3x3x3xf32>) -> tensor<4x2x4x4xf32>
  func.return %y : tensor<4x2x4x4xf32>
}

// CHECK-LABEL: @convolution
// CHECK: loops [i : 1, b : 1, y : 1, x : 2] keep(W = 1) {layer = "first"}
// MACHINE-LABEL: @convolution
// MACHINE: loops [i : 1, b : 1, y : 1, x : 3] spm 800 bytes {layer = "first"}

// Of round-robin nests the promise is that of both.
func.func @gradients(%dy: tensor<6x4xf32>, %w: tensor<9x4xf32>, %x: tensor<6x9xf32>) -> (tensor<6x9xf32>, tensor<9x4xf32>) {
  %dx, %dw = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 9) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
      {layer = "fc2", role = "dx"} : (tensor<6x4xf32>, tensor<9x4xf32>) -> tensor<6x9xf32>
    %b = npu.contract (m = 6, n = 4, k = 9) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
      {layer = "fc2", role = "dw"} : (tensor<6x9xf32>, tensor<6x4xf32>) -> tensor<9x4xf32>
    npu.yield %a, %b : tensor<6x9xf32>, tensor<9x4xf32>
  } {layer = "fc2", role = "dxdw"} : (tensor<6x9xf32>, tensor<9x4xf32>)
  func.return %dx, %dw : tensor<6x9xf32>, tensor<9x4xf32>
}

// CHECK-LABEL: @gradients
// CHECK: npu.interleave {
// CHECK: loops [m : 2, n : 2] keep(W = 1) {layer = "fc2", role = "dx"}
// CHECK: loops [m : 2, n : 2] {layer = "fc2", role = "dw"}
// MACHINE-LABEL: @gradients
// MACHINE: npu.interleave spm 800 bytes {
// MACHINE: loops [m : 3] {layer = "fc2", role = "dx"}
// MACHINE: loops [m : 3] {layer = "fc2", role = "dw"}
