// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<2x4x3x3xf32>, %c: tensor<4xf32>, %a: tensor<2x4x6xf32>, %g: tensor<4x6xf32>, %r: tensor<2xf32>) {
  %y0, %m0, %v0 = train.batch_norm %x : (tensor<2x4x3x3xf32>) -> (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: %y0, %m0, %v0 = train.batch_norm %x : (tensor<2x4x3x3xf32>) -> (tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
  %r2 = train.batch_norm_dx %x, %x, %c, %c eps 0.5 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x3xf32>
  // CHECK: %r2 = train.batch_norm_dx %x, %x, %c, %c eps 0.5 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3x3xf32>
  %y3, %m3, %v3 = train.layer_norm %a, %g, %g : (tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<2x4x6xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: %y3, %m3, %v3 = train.layer_norm %a, %g, %g : (tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<2x4x6xf32>, tensor<2xf32>, tensor<2xf32>)
  %y4, %m4, %v4 = train.layer_norm %a, %g eps 0.001 : (tensor<2x4x6xf32>, tensor<4x6xf32>) -> (tensor<2x4x6xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: %y4, %m4, %v4 = train.layer_norm %a, %g eps 0.001 : (tensor<2x4x6xf32>, tensor<4x6xf32>) -> (tensor<2x4x6xf32>, tensor<2xf32>, tensor<2xf32>)
  %r5 = train.layer_norm_dx %a, %a, %g, %r, %r : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4x6xf32>
  // CHECK: %r5 = train.layer_norm_dx %a, %a, %g, %r, %r : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x4x6xf32>
  %r6 = train.layer_norm_dw %a, %a, %r, %r : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x6xf32>
  // CHECK: %r6 = train.layer_norm_dw %a, %a, %r, %r : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x6xf32>
  func.return
}
