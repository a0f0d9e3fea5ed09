// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.softmax %a : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.log_softmax %a axis 2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: axis is 2, expected -2 to 1 for 2x3
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  %r = train.log_softmax_grad %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: dy is tensor<2x3xf32>, y is tensor<3x2xf32>
  func.return
}
