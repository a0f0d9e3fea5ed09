// RUN: npuc opt %s | filecheck %s

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  %r0 = train.log_softmax %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r0 = train.log_softmax %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r1 = train.log_softmax %a axis 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r1 = train.log_softmax %a axis 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = train.log_softmax_grad %a, %b axis 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.log_softmax_grad %a, %b axis 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
