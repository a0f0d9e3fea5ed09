// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.cumprod %a axis 2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: axis is 2, expected -2 to 1 for 2x3
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.cumprod %a axis 1 : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.logcumsumexp %a axis 1 : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  %r = train.cumprod_grad %a, %b axis 1 : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: operands differ: 2x3 f32 and 3x2 f32
  func.return
}
