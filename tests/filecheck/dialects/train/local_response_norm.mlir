// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<2x4x3x3xf32>) {
  %r0 = train.local_response_norm %x size 5 : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  // CHECK: %r0 = train.local_response_norm %x size 5 : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %r1 = train.local_response_norm %x size 3 alpha 0.5 beta 0.5 k 2.0 : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  // CHECK: %r1 = train.local_response_norm %x size 3 alpha 0.5 beta 0.5 k 2.0 : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  %r2 = train.local_response_norm_grad %x, %x size 5 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  // CHECK: %r2 = train.local_response_norm_grad %x, %x size 5 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
  func.return
}
