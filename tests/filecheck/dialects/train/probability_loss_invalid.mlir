// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.binary_cross_entropy %a, %a : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<i32>
  // CHECK: prediction and target have element type i32, expected a float type
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.binary_cross_entropy_with_logits %a, %a pos_weight -1.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: pos_weight is -1.0, expected at least 0
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.kl_div %a, %a reduction "max" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: reduction is 'max', expected one of mean, sum, batchmean
  func.return
}

// -----

func.func @f(%a: tensor<f32>) {
  %r = train.kl_div %a, %a reduction "batchmean" : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK: reduction 'batchmean' needs a first axis, the prediction is a scalar
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = train.kl_div_target_grad %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: prediction is tensor<2x3xf32>, target is tensor<2xf32>: expected equal types
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.kl_div_grad %a : (tensor<2x3xf32>) -> tensor<f32>
  // CHECK: expected result tensor<2x3xf32>, got tensor<f32>
  func.return
}
