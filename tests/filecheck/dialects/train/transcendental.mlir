// RUN: npuc opt %s | filecheck %s

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  %r0 = train.tan %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r0 = train.tan %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r1 = train.tan_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r1 = train.tan_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = train.asin %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.asin %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = train.asin_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r3 = train.asin_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r4 = train.acos %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r4 = train.acos %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r5 = train.acos_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r5 = train.acos_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r6 = train.atan %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r6 = train.atan %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r7 = train.atan_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r7 = train.atan_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r8 = train.sinh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r8 = train.sinh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r9 = train.sinh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r9 = train.sinh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r10 = train.cosh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r10 = train.cosh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r11 = train.cosh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r11 = train.cosh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r12 = train.asinh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r12 = train.asinh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r13 = train.asinh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r13 = train.asinh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r14 = train.acosh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r14 = train.acosh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r15 = train.acosh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r15 = train.acosh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r16 = train.atanh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r16 = train.atanh %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r17 = train.atanh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r17 = train.atanh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r18 = train.log1p %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r18 = train.log1p %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r19 = train.log1p_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r19 = train.log1p_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r20 = train.expm1 %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r20 = train.expm1 %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r21 = train.expm1_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r21 = train.expm1_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r22 = train.log2 %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r22 = train.log2 %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r23 = train.log2_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r23 = train.log2_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r24 = train.log10 %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r24 = train.log10 %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r25 = train.log10_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r25 = train.log10_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
