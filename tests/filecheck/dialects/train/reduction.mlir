// RUN: npuc opt %s | filecheck %s

// Reductions and running sums: the text that prints is the text that was read.

func.func @operations(%x: tensor<2x3x4xf32>, %y: tensor<1x3x1xf32>) {
  %r0 = train.prod %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  // CHECK: %r0 = train.prod %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  %r1 = train.prod_grad %y, %x axes [0, 2] : (tensor<1x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r1 = train.prod_grad %y, %x axes [0, 2] : (tensor<1x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r2 = train.var %x axes [0, 2] correction 0.0 : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  // CHECK: %r2 = train.var %x axes [0, 2] correction 0.0 : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  %r3 = train.var %x axes [] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r3 = train.var %x axes [] : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r4 = train.var_grad %y, %x axes [0, 2] : (tensor<1x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r4 = train.var_grad %y, %x axes [0, 2] : (tensor<1x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r5 = train.cumsum %x axis -1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r5 = train.cumsum %x axis -1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %r6 = train.cumsum %x axis 0 reverse : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: %r6 = train.cumsum %x axis 0 reverse : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %n0 = train.vector_norm %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  // CHECK: %n0 = train.vector_norm %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  %n1 = train.vector_norm_grad %n0, %x, %n0 order 3.0 : (tensor<1x3x1xf32>, tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
  // CHECK: %n1 = train.vector_norm_grad %n0, %x, %n0 order 3.0 : (tensor<1x3x1xf32>, tensor<2x3x4xf32>, tensor<1x3x1xf32>) -> tensor<2x3x4xf32>
  func.return
}
