// RUN: npuc opt %s | filecheck %s

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  %r0 = train.sigmoid %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r0 = train.sigmoid %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r1 = train.sigmoid_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r1 = train.sigmoid_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = train.tanh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.tanh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = train.tanh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r3 = train.tanh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r4 = train.silu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r4 = train.silu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r5 = train.silu_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r5 = train.silu_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r6 = train.softplus %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r6 = train.softplus %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r7 = train.softplus_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r7 = train.softplus_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r8 = train.mish %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r8 = train.mish %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r9 = train.mish_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r9 = train.mish_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r10 = train.elu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r10 = train.elu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r11 = train.elu %a alpha 2.0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r11 = train.elu %a alpha 2.0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r12 = train.elu_grad %a, %b alpha 2.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r12 = train.elu_grad %a, %b alpha 2.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
