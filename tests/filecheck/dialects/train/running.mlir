// RUN: npuc opt %s | filecheck %s

func.func @operations(%a: tensor<2x3xf32>, %c: tensor<2x3xi32>) {
  %r0 = train.cumprod %a axis -1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r0 = train.cumprod %a axis -1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r1 = train.cumprod %c axis 0 : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: %r1 = train.cumprod %c axis 0 : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %r2 = train.cumprod_grad %a, %r0 axis -1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.cumprod_grad %a, %r0 axis -1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = train.logcumsumexp %a axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r3 = train.logcumsumexp %a axis 1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r4 = train.logcumsumexp_grad %a, %a, %r3 axis 1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r4 = train.logcumsumexp_grad %a, %a, %r3 axis 1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r5, %r6 = train.cummax %a axis 1 : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  // CHECK: %r5, %r6 = train.cummax %a axis 1 : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %r7, %r8 = train.cummin %c axis 0 : (tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>)
  // CHECK: %r7, %r8 = train.cummin %c axis 0 : (tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>)
  func.return
}
