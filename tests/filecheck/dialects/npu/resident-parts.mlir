// RUN: npuc opt %s | filecheck %s

// A pool that reads a part of a value may leave the whole of it in SPM where it has found it there.

builtin.module attributes {npu.target = {name = "igo-small", rows = 4 : i64, cols = 4 : i64, dataflow = "os", fill = "overlap", drain = "hidden", spm_bytes = 256 : i64, double_buffer = true, clock_mhz = 1.000000e+03 : f64, gb_per_s = 2.200000e+01 : f64, lanes = 45 : i64, element_bytes = 2 : i64, mac_pj = 2.000000e-01 : f64, spm_pj_per_byte = 1.000000e+00 : f64, dram_pj_per_byte = 2.000000e+01 : f64}} {
  func.func @net(%x: tensor<1x1x2x3xf64> {train.input = "x"}, %conv2d1_weight: tensor<1x1x1x1xf64> {train.param = "conv2d1.weight", train.bound = 1.000000e+00 : f64}, %target: tensor<1x1x1x1xf64> {train.input = "target"}) -> (tensor<f64> {train.loss}, tensor<1x1x1x1xf64> {train.updates = 1 : i64}) {
    %0 = npu.contract (b = 1, o = 1, i = 1, y = 2, x = 3) ins(X = %x[b, i, y, x], W = %conv2d1_weight[o, i, 0, 0]) outs(Y[b, o, y, x]) do(Y += X * W) loops [y : 1] spm 512 bytes resident(out W, out X, out Y) {layer = "conv2d1"} : (tensor<1x1x2x3xf64>, tensor<1x1x1x1xf64>) -> tensor<1x1x2x3xf64>
    %1 = npu.vector add(%0, %x) ops 6 resident(in in0, in in1, out in1, out out0 over in0) {layer = "add2"} : (tensor<1x1x2x3xf64>, tensor<1x1x2x3xf64>) -> tensor<1x1x2x3xf64>
    %2 = npu.vector max_pool(%1) <{kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>}> ops 4 reads [4] resident(in in0, out in0, out out0) {layer = "max_pool3"} : (tensor<1x1x2x3xf64>) -> tensor<1x1x1x1xf64>
    %3 = npu.vector dot_loss(%2, %target) ops 2 resident(in in0, out in1) {layer = "loss"} : (tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>) -> tensor<f64>
    %4 = npu.vector max_pool_grad(%target, %1) <{kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, dilation = array<i64: 1, 1>}> ops 4 reads [1, 4] resident(in in0, in in1, out out0) {layer = "max_pool3", role = "dx"} : (tensor<1x1x1x1xf64>, tensor<1x1x2x3xf64>) -> tensor<1x1x2x3xf64>
    %dconv2d1_weight = npu.contract (b = 1, o = 1, i = 1, y = 2, x = 3) ins(X = %x[b, i, y, x], dY = %4[b, o, y, x]) outs(dW[o, i, 0, 0]) do(dW += X * dY) loops [y : 1, x : 1] spm 512 bytes resident(in X, in dY, out dW) {layer = "conv2d1", role = "dw"} : (tensor<1x1x2x3xf64>, tensor<1x1x2x3xf64>) -> tensor<1x1x1x1xf64>
    %conv2d1_weight_new = npu.vector sgd(%conv2d1_weight, %dconv2d1_weight) <{lr = 1.000000e+00 : f64, momentum = 0.000000e+00 : f64, weight_decay = 0.000000e+00 : f64, dampening = 0.000000e+00 : f64}> ops 2 resident(in in0, in in1) {layer = "conv2d1.weight", role = "update"} : (tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>) -> tensor<1x1x1x1xf64>
    func.return %3, %conv2d1_weight_new : tensor<f64>, tensor<1x1x1x1xf64>
  }
}

// CHECK: npu.vector max_pool
// CHECK-SAME: reads [4] resident(in in0, out in0, out out0)
