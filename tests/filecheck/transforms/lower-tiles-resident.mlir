// RUN: npuc opt %s -p lower-tiles | filecheck %s
// RUN: npuc opt %s -p lower-tiles | npuc opt | filecheck %s

// dY is loaded whole and found by dW; dX is added up in a block of all of it and never stored.
func.func @stays(%dy: tensor<6x4xf32>, %w: tensor<8x4xf32>, %x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>) {
  %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    loops [k : 2] spm 352 bytes resident(out dY, out dX) {layer = "fc"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
  %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    spm 608 bytes resident(in dY) {layer = "fc"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %g = npu.vector relu(%dx) ops 48 resident(in in0) {layer = "g"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return %g, %dw : tensor<6x8xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: @stays
// CHECK: %dY_b = npu.load %dy[d0, d1] over (d0 = 0 : 6, d1 = 0 : 4) {tensor = "dY", layer = "fc"}
// CHECK-NEXT: %dX_b = npu.zero [d0, d1] over (d0 = 0 : 6, d1 = 0 : 8)
// CHECK-NEXT: scf.for
// CHECK-NOT: npu.store
// CHECK: %dx = npu.as_tensor %dX_b_1 {tensor = "dX", layer = "fc"} : !npu.block<6x8xf32> -> tensor<6x8xf32>
// CHECK: npu.as_block %dy {tensor = "dY", layer = "fc"} : tensor<6x4xf32> -> !npu.block<6x4xf32>
// CHECK: npu.store {{.*}} {tensor = "dW", layer = "fc"}
// CHECK: %g = npu.vector relu(%dx) ops 48 {layer = "g"}

// Every other element of dX has a start to which nothing is added: it is read into the block at the end.
func.func @starts(%dy: tensor<3xf32>, %w: tensor<1xf32>, %s: tensor<6xf32>) -> tensor<6xf32> {
  %dx = npu.contract (m = 3, n = 1) ins(dY = %dy[m], W = %w[n]) outs(dX[m * 2 + n] from %s[m * 2 + n]) do(dX += dY * W)
    resident(out dX) {layer = "fc"} : (tensor<3xf32>, tensor<1xf32>, tensor<6xf32>) -> tensor<6xf32>
  %g = npu.vector relu(%dx) ops 6 resident(in in0) {layer = "g"} : (tensor<6xf32>) -> tensor<6xf32>
  func.return %g : tensor<6xf32>
}

// CHECK-LABEL: @starts
// CHECK: npu.mac
// CHECK-NEXT: %[[FILLED:.*]] = npu.fill %{{.*}} from %s axes [0] {tensor = "dX", layer = "fc"} : !npu.block<6xf32>, tensor<6xf32>
// CHECK-NEXT: npu.as_tensor %[[FILLED]]
