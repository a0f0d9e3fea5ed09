// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<2x4x3xf32>, %c: tensor<4xf32>, %s: tensor<2x2xf32>) {
  %y0, %m0, %v0 = train.group_norm %x, %c, %c groups 2 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
  // CHECK: %y0, %m0, %v0 = train.group_norm %x, %c, %c groups 2 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
  %y1, %m1, %v1 = train.group_norm %x groups 4 eps 0.001 : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  // CHECK: %y1, %m1, %v1 = train.group_norm %x groups 4 eps 0.001 : (tensor<2x4x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %r2 = train.group_norm_dx %x, %x, %c, %s, %s groups 2 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4x3xf32>
  // CHECK: %r2 = train.group_norm_dx %x, %x, %c, %s, %s groups 2 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4x3xf32>
  %r3 = train.group_norm_dx %x, %x, %s, %s groups 2 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4x3xf32>
  // CHECK: %r3 = train.group_norm_dx %x, %x, %s, %s groups 2 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4x3xf32>
  %g4, %b4 = train.group_norm_dw %x, %x, %s, %s groups 2 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: %g4, %b4 = train.group_norm_dw %x, %x, %s, %s groups 2 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
