// RUN: npuc opt %s | filecheck %s

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %row: tensor<3xf32>, %ids: tensor<2x3xi32>) {
  %r0 = train.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r0 = train.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r1 = train.log %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r1 = train.log %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = train.sqrt %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.sqrt %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = train.rsqrt %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r3 = train.rsqrt %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r4 = train.abs %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r4 = train.abs %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r5 = train.sin %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r5 = train.sin %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r6 = train.cos %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r6 = train.cos %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r7 = train.erf %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r7 = train.erf %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r8 = train.power %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r8 = train.power %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r9 = train.sqrt_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r9 = train.sqrt_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r10 = train.rsqrt_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r10 = train.rsqrt_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r11 = train.abs_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r11 = train.abs_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r12 = train.sin_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r12 = train.sin_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r13 = train.cos_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r13 = train.cos_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r14 = train.erf_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r14 = train.erf_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r15 = train.power_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r15 = train.power_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r16 = train.abs %ids : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: %r16 = train.abs %ids : (tensor<2x3xi32>) -> tensor<2x3xi32>
  %r17 = train.power %a exponent -0.5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r17 = train.power %a exponent -0.5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r18 = train.power_grad %a, %b exponent -0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r18 = train.power_grad %a, %b exponent -0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r19 = train.pow %row, %a : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r19 = train.pow %row, %a : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r20 = train.max %row, %a : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r20 = train.max %row, %a : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r21 = train.min %row, %a : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r21 = train.min %row, %a : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r22 = train.pow_dbase %a, %row, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r22 = train.pow_dbase %a, %row, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r23 = train.pow_dexponent %a, %row, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r23 = train.pow_dexponent %a, %row, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r24 = train.max_grad %a, %row, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r24 = train.max_grad %a, %row, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r25 = train.min_grad %a, %row, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r25 = train.min_grad %a, %row, %b : (tensor<2x3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
