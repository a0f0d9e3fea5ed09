// RUN: npuc opt %s | npuc opt | filecheck %s

// On which units a product runs: one has all of it, or several share an axis of it.

builtin.module attributes {npu.units = {units = [{name = "eie"}, {name = "tpu"}, {name = "row-wise"}]}} {
  func.func @f(%x: tensor<4x32xf32>, %w: tensor<32x8xf32>) -> (tensor<4x8xf32> {npuc.name = "y"}, tensor<4x8xf32> {npuc.name = "z"}) {
    %y = npu.contract (m = 4, n = 8, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
      {units = #npu.units<k [tpu : 20, "row-wise" : 12]>} : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
    %z = npu.contract (m = 4, n = 8, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
      {units = #npu.units<[eie : 4] stage 3>} : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
    func.return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
  }
}

// CHECK:      do(Y += X * W) {units = #npu.units<k [tpu : 20, "row-wise" : 12]>} : (tensor<4x32xf32>
// CHECK:      do(Y += X * W) {units = #npu.units<[eie : 4] stage 3>} : (tensor<4x32xf32>
