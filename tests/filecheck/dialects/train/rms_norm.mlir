// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<2x4x6xf32>, %g: tensor<6xf32>, %s: tensor<2x4xf32>, %h: tensor<4x6xf32>, %t: tensor<2xf32>) {
  %y0, %s0 = train.rms_norm %x, %g : (tensor<2x4x6xf32>, tensor<6xf32>) -> (tensor<2x4x6xf32>, tensor<2x4xf32>)
  // CHECK: %y0, %s0 = train.rms_norm %x, %g : (tensor<2x4x6xf32>, tensor<6xf32>) -> (tensor<2x4x6xf32>, tensor<2x4xf32>)
  %y1, %s1 = train.rms_norm %x axes 2 eps 0.001 : (tensor<2x4x6xf32>) -> (tensor<2x4x6xf32>, tensor<2xf32>)
  // CHECK: %y1, %s1 = train.rms_norm %x axes 2 eps 0.001 : (tensor<2x4x6xf32>) -> (tensor<2x4x6xf32>, tensor<2xf32>)
  %r2 = train.rms_norm_dx %x, %x, %t, %h axes 2 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2xf32>, tensor<4x6xf32>) -> tensor<2x4x6xf32>
  // CHECK: %r2 = train.rms_norm_dx %x, %x, %t, %h axes 2 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2xf32>, tensor<4x6xf32>) -> tensor<2x4x6xf32>
  %r3 = train.rms_norm_dx %x, %x, %s : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4xf32>) -> tensor<2x4x6xf32>
  // CHECK: %r3 = train.rms_norm_dx %x, %x, %s : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4xf32>) -> tensor<2x4x6xf32>
  %r4 = train.rms_norm_dw %x, %x, %s : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4xf32>) -> tensor<6xf32>
  // CHECK: %r4 = train.rms_norm_dw %x, %x, %s : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4xf32>) -> tensor<6xf32>
  func.return
}
