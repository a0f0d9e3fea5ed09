// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x4xf32>) {
  %r = train.local_response_norm %a size 0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: size is 0, expected at least 1
  func.return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %r = train.local_response_norm %a size 3 : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: the input must be [batch, channels, …], got 4
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<2x3xf32>) {
  %r = train.local_response_norm_grad %b, %a size 3 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: dy is tensor<2x3xf32>, expected tensor<2x4xf32>
  func.return
}
