// RUN: npuc opt %s | filecheck %s

func.func @operations(%a: tensor<2x3xi32>, %c: tensor<3xi32>) {
  %r0 = train.bitwise_and %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %r0 = train.bitwise_and %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %r1 = train.bitwise_or %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %r1 = train.bitwise_or %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %r2 = train.bitwise_xor %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %r2 = train.bitwise_xor %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %r3 = train.shift_left %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %r3 = train.shift_left %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %r4 = train.shift_right %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: %r4 = train.shift_right %a, %c : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  %r5 = train.bitwise_not %a : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: %r5 = train.bitwise_not %a : (tensor<2x3xi32>) -> tensor<2x3xi32>
  func.return
}
