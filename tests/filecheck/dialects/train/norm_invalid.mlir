// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x4xf32>, %c: tensor<4xf32>) {
  %r, %m, %v = train.batch_norm %a, %c, %c, %c : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: found 3 tensors beside the input, expected at most a scale and a shift
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  %r, %m, %v = train.layer_norm %a : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: expected a scale beside the input
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<f32>) {
  %r, %m, %v = train.layer_norm %a, %c : (tensor<2x4xf32>, tensor<f32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: the scale has 0 axes, expected 1 to 2 for the input 2x4
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<4xf32>, %d: tensor<3xf32>) {
  %r, %m, %v = train.layer_norm %a, %c, %d : (tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: shift is tensor<3xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<2xf32>, %d: tensor<3xf32>) {
  %r = train.layer_norm_dw %a, %a, %c, %d : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<4xf32>
  // CHECK: variance is tensor<3xf32>, expected tensor<2xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xi32>, %c: tensor<4xi32>) {
  %r, %m, %v = train.layer_norm %a, %c : (tensor<2x4xi32>, tensor<4xi32>) -> (tensor<2x4xi32>, tensor<2xi32>, tensor<2xi32>)
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}
