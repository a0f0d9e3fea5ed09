// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.sigmoid %a : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.gelu %a : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.elu %a : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.elu %a alpha 2.0 : (tensor<2x3xf32>) -> tensor<2x3xf64>
  // CHECK: expected result tensor<2x3xf32>, got tensor<2x3xf64>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf64>) {
  %r = train.tanh_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf64>) -> tensor<2x3xf32>
  // CHECK: operands differ: 2x3 f32 and 2x3 f64
  func.return
}
