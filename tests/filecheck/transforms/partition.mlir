// RUN: npuc opt %s -p 'partition{dim=m parts=3},partition{dim=n parts=2 over=cores only="a*"}' | filecheck %s
// RUN: npuc opt %s -p 'partition{dim=k parts=1}' | filecheck %s --check-prefix ONE
// RUN: npuc opt %s -p 'set-target{rows=2 cols=2 spm-bytes=160 clock-mhz=1000 gb-per-s=1 lanes=1 element-bytes=1},partition{dim=k parts=2},partition{rule=best}' | filecheck %s --check-prefix MACHINE

// The loop of a part's size goes, and what is kept over the loops inside stays.
func.func @alone(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [k : 2, m : 2, n : 1] keep(X = 1, W = 2) spm 320 bytes {layer = "alone"} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// CHECK-LABEL: @alone
// CHECK: loops [cores n : 2, m : 2, k : 2, n : 1] keep(X = 1, W = 1) spm 320 bytes
// ONE-LABEL: @alone
// ONE: loops [k : 2, m : 2, n : 1] keep(X = 1, W = 2) spm 320 bytes
// MACHINE-LABEL: @alone
// MACHINE: loops [{{.*}}k : 4, {{.*}}] keep(X = 1, W = 2) spm 320 bytes

// In turn each nest is cut.
func.func @gradients(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %dx, %dw = npu.interleave spm 240 bytes {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
      loops [m : 1, k : 2] {layer = "fc2", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
      loops [k : 2] {layer = "fc2", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } {layer = "fc2", role = "dxdw"} : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @gradients
// CHECK: npu.interleave spm 240 bytes {
// CHECK: loops [m : 2, m : 1, k : 2] {layer = "fc2", role = "dx"}
// CHECK: loops [m : 2, k : 2] {layer = "fc2", role = "dw"}
// MACHINE-LABEL: @gradients
// MACHINE: loops [k : 4, m : 1, k : 2] {layer = "fc2", role = "dx"}
// MACHINE: loops [k : 4, k : 2] {layer = "fc2", role = "dw"}
