// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.relu %a : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.clip %a low 0.5 : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: low is 0.5, expected an integer beside elements of i32
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.clip %a : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.leaky_relu %a : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.hard_swish %a : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = train.prelu %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: the slopes are tensor<2xf32>, expected tensor<3xf32>: one a channel of 2x3
  func.return
}

// -----

func.func @f(%a: tensor<3xf32>, %b: tensor<3xf32>) {
  %r = train.prelu %a, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK: the input must be [batch, channels, …], got 3
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>, %b: tensor<3xi32>) {
  %r = train.prelu %a, %b : (tensor<2x3xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  %r = train.prelu_dw %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  // CHECK: operands differ: 2x3 f32 and 3x2 f32
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  %r = train.clip_grad %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: operands differ: 2x3 f32 and 3x2 f32
  func.return
}
