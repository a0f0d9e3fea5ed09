// RUN: npuc opt %s | filecheck %s

func.func @operations(%a: tensor<2x3xf32>, %c: tensor<3xf32>) {
  %r0 = train.floor %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r0 = train.floor %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r1 = train.ceil %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r1 = train.ceil %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = train.round %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.round %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = train.trunc %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r3 = train.trunc %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r4 = train.sign %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r4 = train.sign %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r5 = train.remainder %a, %c : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: %r5 = train.remainder %a, %c : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r6 = train.fmod %a, %c : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: %r6 = train.fmod %a, %c : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}
