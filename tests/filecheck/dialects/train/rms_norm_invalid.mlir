// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x4xf32>, %c: tensor<3xf32>) {
  %r, %s = train.rms_norm %a, %c : (tensor<2x4xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  // CHECK: scale is tensor<3xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  %r, %s = train.rms_norm %a axes 3 : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<f32>)
  // CHECK: axes is 3, expected 1 to 2 for the input 2x4
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<4xf32>) {
  %r = train.rms_norm_dx %a, %a, %c : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK: mean square is tensor<4xf32>, expected tensor<2xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<4x2xf32>, %c: tensor<2xf32>) {
  %r = train.rms_norm_dw %b, %a, %c : (tensor<4x2xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<4xf32>
  // CHECK: dy is tensor<4x2xf32>, expected tensor<2x4xf32>
  func.return
}
