// RUN: npuc opt %s --hw igo-small -p "assign-units{units=\"a dense 4 64; b dense 12 64\"}" | filecheck %s
// RUN: npuc opt %s --hw igo-small -p "assign-units{mode=assign units=\"a dense 4 64; b dense 4 64\"}" | filecheck %s --check-prefix=ASSIGN

// A product is shared along the axis and in the parts that take least time; gradients of a layer may run side by side.

func.func @step(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>, %dy: tensor<64x64xf32>)
    -> (tensor<64x32xf32> {npuc.name = "dx"}, tensor<32x64xf32> {npuc.name = "dw"}) {
  %dx = npu.contract (m = 64, n = 64, k = 32) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    {layer = "fc", role = "dx"} : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<64x32xf32>
  %dw = npu.contract (m = 64, n = 64, k = 32) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
    {layer = "fc", role = "dw"} : (tensor<64x32xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  func.return %dx, %dw : tensor<64x32xf32>, tensor<32x64xf32>
}

// CHECK:      npu.units = {name = "igo-small", hertz = 1.000000e+09 : f64, {{.*}}units = [{name = "a", kind = "dense", pes = 4 : i64, buffer_bytes = 65536 : i64,
// CHECK:      %dx = npu.contract {{.*}} {layer = "fc", role = "dx", units = #npu.units<{{m|n|k}} [a : {{[0-9]+}}, b : {{[0-9]+}}]>}
// CHECK-NEXT: %dw = npu.contract {{.*}} {layer = "fc", role = "dw", units = #npu.units<{{m|n|k}} [a : {{[0-9]+}}, b : {{[0-9]+}}]>}

// ASSIGN:      %dx = npu.contract {{.*}} {layer = "fc", role = "dx", units = #npu.units<[a : 64] stage 0>}
// ASSIGN-NEXT: %dw = npu.contract {{.*}} {layer = "fc", role = "dw", units = #npu.units<[b : 32] stage 0>}
