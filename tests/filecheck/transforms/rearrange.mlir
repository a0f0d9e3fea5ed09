// RUN: npuc opt %s -p 'rearrange{order=n,k only="set"}' | filecheck %s
// RUN: npuc opt %s -p 'set-target{rows=2 cols=2 spm-bytes=80 clock-mhz=1000 gb-per-s=1 lanes=1 element-bytes=1},rearrange{rule=published},rearrange{order=k,m,n only="free"}' | filecheck %s --check-prefix RULE

// m comes inside as it was; loops over cores and the cut of k stay in front.
func.func @set(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %dx, %dw = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n], X = %x[m, k]) outs(dX[m, k], dW[k, n])
    do(dX += dY * W, dW += X * dY) loops [cores m : 3, k : 4, m : 1, k : 2, n : 2] keep(dY = 1) spm 320 bytes
    {layer = "set", role = "dxdw"}
    : (tensor<6x4xf32>, tensor<8x4xf32>, tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @set
// CHECK: loops [cores m : 3, k : 4, n : 2, k : 2, m : 1] keep(dY = 1) spm 320 bytes
// RULE-LABEL: @set
// RULE: loops [cores m : 3, k : 4, m : 1, k : 2, n : 2] keep(dY = 1) spm 320 bytes

// Without a schedule the best of that order.
func.func @free(%x: tensor<16x32xf32>, %w: tensor<32x8xf32>) -> tensor<16x8xf32> {
  %y = npu.contract (m = 16, n = 8, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {layer = "free"}
    : (tensor<16x32xf32>, tensor<32x8xf32>) -> tensor<16x8xf32>
  func.return %y : tensor<16x8xf32>
}

// RULE-LABEL: @free
// RULE: loops [k : {{[0-9]+}}, m : {{[0-9]+}}

// In turn: merged where the ratio of the sizes is 4 or more, dW-major as k is the largest.
func.func @long(%dy: tensor<6x4xf32>, %w: tensor<24x4xf32>, %x: tensor<6x24xf32>) -> (tensor<6x24xf32>, tensor<24x4xf32>) {
  %dx, %dw = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 24) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
      {layer = "long", role = "dx"} : (tensor<6x4xf32>, tensor<24x4xf32>) -> tensor<6x24xf32>
    %b = npu.contract (m = 6, n = 4, k = 24) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
      {layer = "long", role = "dw"} : (tensor<6x24xf32>, tensor<6x4xf32>) -> tensor<24x4xf32>
    npu.yield %a, %b : tensor<6x24xf32>, tensor<24x4xf32>
  } {layer = "long", role = "dxdw"} : (tensor<6x24xf32>, tensor<24x4xf32>)
  func.return %dx, %dw : tensor<6x24xf32>, tensor<24x4xf32>
}

// RULE-LABEL: @long
// RULE-NEXT: %dx, %dw = npu.contract (m = 6, n = 4, k = 24) {{.*}} do(dX += dY * W, dW += X * dY) loops [k : {{[0-9]+}}, m : {{[0-9]+}}] {{.*}}spm 80 bytes {layer = "long", role = "dxdw"}
// RULE-NEXT: func.return %dx, %dw

// A nearly cubic product stays in turn.
func.func @cubic(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %dx, %dw = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
      {layer = "cubic", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
      {layer = "cubic", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } {layer = "cubic", role = "dxdw"} : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x4xf32>
}

// RULE-LABEL: @cubic
// RULE-NEXT: %dx, %dw = npu.interleave {
// RULE-NEXT: npu.contract (m = 6, n = 4, k = 8)
