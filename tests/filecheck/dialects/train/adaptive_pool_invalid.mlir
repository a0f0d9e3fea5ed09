// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<1x7x7xf32>) {
  %r = train.adaptive_avg_pool %a size [3, 3] : (tensor<1x7x7xf32>) -> tensor<1x3x3xf32>
  // CHECK: the input must be [batch, channels, height, width], got 1x7x7
  func.return
}

// -----

func.func @f(%a: tensor<1x1x7x7xf32>) {
  %r = train.adaptive_max_pool %a size [3, 0] : (tensor<1x1x7x7xf32>) -> tensor<1x1x3x3xf32>
  // CHECK: size is [3, 0], expected two integers of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<1x2x3x3xf32>) {
  %r = train.adaptive_avg_pool_grad %a : (tensor<1x2x3x3xf32>) -> tensor<2x2x7x7xf32>
  // CHECK: dy is 1x2x3x3, the pooling's output is 2x2x3x3
  func.return
}

// -----

func.func @f(%a: tensor<1x2x3x3xf32>, %b: tensor<1x3x7x7xf32>) {
  %r = train.adaptive_max_pool_grad %a, %b : (tensor<1x2x3x3xf32>, tensor<1x3x7x7xf32>) -> tensor<1x3x7x7xf32>
  // CHECK: dy is 1x2x3x3, the pooling's output is 1x3x3x3
  func.return
}
