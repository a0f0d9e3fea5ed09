// RUN: npuc opt %s | filecheck %s

func.func @operations(%a: tensor<2x3xf32>, %row: tensor<3xf32>, %m: tensor<2x3xi1>, %n: tensor<3xi1>, %ids: tensor<2x3xi32>) {
  %r0 = train.equal %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: %r0 = train.equal %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r1 = train.not_equal %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: %r1 = train.not_equal %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r2 = train.less %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: %r2 = train.less %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r3 = train.less_equal %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: %r3 = train.less_equal %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r4 = train.greater %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: %r4 = train.greater %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r5 = train.greater_equal %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: %r5 = train.greater_equal %a, %row : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %r6 = train.equal %ids, %ids : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
  // CHECK: %r6 = train.equal %ids, %ids : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
  %r7 = train.logical_and %m, %n : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  // CHECK: %r7 = train.logical_and %m, %n : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  %r8 = train.logical_or %n, %m : (tensor<3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: %r8 = train.logical_or %n, %m : (tensor<3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  %r9 = train.logical_not %m : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: %r9 = train.logical_not %m : (tensor<2x3xi1>) -> tensor<2x3xi1>
  %r10 = train.where %m, %row, %a : (tensor<2x3xi1>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r10 = train.where %m, %row, %a : (tensor<2x3xi1>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r11 = train.where %n, %ids, %ids : (tensor<3xi1>, tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: %r11 = train.where %n, %ids, %ids : (tensor<3xi1>, tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  %r12 = train.where %m, %m, %n : (tensor<2x3xi1>, tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  // CHECK: %r12 = train.where %m, %m, %n : (tensor<2x3xi1>, tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  %t0 = train.isnan %a : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: %t0 = train.isnan %a : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %t1 = train.isinf %a : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: %t1 = train.isinf %a : (tensor<2x3xf32>) -> tensor<2x3xi1>
  %t2 = train.isfinite %a : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: %t2 = train.isfinite %a : (tensor<2x3xf32>) -> tensor<2x3xi1>
  func.return
}
