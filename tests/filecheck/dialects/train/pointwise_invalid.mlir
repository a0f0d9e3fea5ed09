// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.exp %a : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.abs %a : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>) {
  %r = train.power %a : (tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.power %a exponent -1.0 : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: exponent is -1.0, expected an integer of at least 0 for i32
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.power %a exponent 0.5 : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: exponent is 0.5, expected an integer of at least 0 for i32
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>, %b: tensor<2x3xi1>) {
  %r = train.pow %a, %b : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = train.max %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: shapes 2x3 and 2 do not broadcast
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf64>) {
  %r = train.min %a, %b : (tensor<2x3xf32>, tensor<3xf64>) -> tensor<2x3xf32>
  // CHECK: element types differ: f32 and f64
  func.return
}

// -----

func.func @f(%a: tensor<3xf32>, %b: tensor<2x3xf32>) {
  %r = train.max_grad %a, %b, %b : (tensor<3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3xf32>
  // CHECK: dy is tensor<3xf32>, 2x3 and 2x3 broadcast to tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>, %b: tensor<2x3xi1>) {
  %r = train.add %a, %b : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.affine %a scale 0.5 : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: scale is 0.5, expected an integer beside elements of i32
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi32>) {
  %r = train.affine %a offset 2147483648.0 : (tensor<2x3xi32>) -> tensor<2x3xi32>
  // CHECK: offset is 2147483648.0, expected -2147483648 to 2147483647 beside elements of i32
  func.return
}

// -----

func.func @f() {
  %r = train.constant value -9007199254740992.0 : () -> tensor<i64>
  // CHECK: value is -9007199254740992.0, expected -9007199254740991 to 9007199254740991 beside elements of i64
  func.return
}
