// RUN: npuc opt %s -p 'interleave{mode=zip}' | filecheck %s
// RUN: npuc opt %s -p 'interleave{mode=zip},lower-tiles' | filecheck %s --check-prefix TILES

// One tile operation of each in turn. With whole blocks they do not fit what both promised: their schedules go.
func.func @gradients(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    loops [m : 2] keep(dY = 1) spm 400 bytes {layer = "fc2", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    loops [k : 4] spm 480 bytes {layer = "fc2", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @gradients
// CHECK-NEXT: %dx, %dw = npu.interleave {
// CHECK-NEXT: npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W) {layer = "fc2", role = "dx"}
// CHECK-NEXT: npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY) {layer = "fc2", role = "dw"}
// CHECK-NEXT: npu.yield
// CHECK-NEXT: } {layer = "fc2", role = "dxdw"} : (tensor<6x8xf32>, tensor<8x4xf32>)

func.func @kept(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    loops [m : 2, k : 2, n : 2] keep(dY = 3) spm 200 bytes {layer = "fc2", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    loops [n : 2, k : 2, m : 2] keep(dY = 3) spm 160 bytes {layer = "fc2", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  func.return %dx, %dw : tensor<6x8xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @kept
// CHECK-NEXT: %dx, %dw = npu.interleave spm 160 bytes {
// CHECK-NEXT: do(dX += dY * W) loops [m : 2, k : 2, n : 2] keep(dY = 3) {layer = "fc2", role = "dx"}
// CHECK-NEXT: do(dW += X * dY) loops [n : 2, k : 2, m : 2] keep(dY = 3) {layer = "fc2", role = "dw"}

// dY is loaded once, before both streams.
// TILES-LABEL: @kept
// TILES-NEXT: [[DY:%.+]] = npu.load %dy[m, n] over (m = 0 : 6, n = 0 : 4) {tensor = "dY", layer = "fc2", role = "dx"}
// TILES-NEXT: %dx, %dw = npu.streams {
// TILES-NOT: npu.load %dy
// TILES: npu.mac {{.*}} += [[DY]][m, n] *
// TILES: npu.yield
// TILES-NEXT: } and {
// TILES-NOT: npu.load %dy
// TILES: npu.mac {{.*}} * [[DY]][m, n]
// TILES: npu.yield
// TILES-NEXT: } {layer = "fc2", role = "dxdw"} : (tensor<6x8xf32>, tensor<8x4xf32>)
