// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = train.l1_loss %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<f32>
  // CHECK: prediction is tensor<2x3xf32>, target is tensor<2xf32>: expected equal types
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.mse %a, %a reduction "batchmean" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: reduction is 'batchmean', expected one of mean, sum
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.huber_loss %a, %a delta 0.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: delta is 0.0, expected more than 0
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.smooth_l1_loss_grad %a, %a beta -1.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: beta is -1.0, expected at least 0
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.smooth_l1_loss %a, %a : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<i32>
  // CHECK: prediction and target have element type i32, expected a float type
  func.return
}

// -----

func.func @f(%y: tensor<2x3xi32>) {
  %l = train.mse %y, %y : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<i32>
  // CHECK: elements are i32, expected floating point for the mean: cast them first, or take reduction=sum
  func.return
}
