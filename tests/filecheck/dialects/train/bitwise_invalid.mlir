// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.bitwise_and %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: elements are f32, expected integers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.bitwise_not %a : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected integers: use the logical operations
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>, %b: tensor<2xi32>) {
  %r = train.shift_left %a, %b : (tensor<2x3xi32>, tensor<2xi32>) -> tensor<2x3xi32>
  // CHECK: shapes 2x3 and 2 do not broadcast
  func.return
}
