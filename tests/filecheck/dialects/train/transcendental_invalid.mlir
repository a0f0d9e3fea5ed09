// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.tan %a : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = train.asin_grad %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: operands differ: 2x3 f32 and 3 f32
  func.return
}
