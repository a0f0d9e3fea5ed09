// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.floor %a : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.sign %a : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = train.remainder %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: shapes 2x3 and 2 do not broadcast
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.fmod %a, %a : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}
