// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = train.less %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xi1>
  // CHECK: shapes 2x3 and 2 do not broadcast
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xi32>) {
  %r = train.equal %a, %b : (tensor<2x3xf32>, tensor<2x3xi32>) -> tensor<2x3xi1>
  // CHECK: element types differ: f32 and i32
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  %r = train.greater %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: expected result tensor<2x3xi1>, got tensor<2x3xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>, %b: tensor<2x3xi32>) {
  %r = train.logical_and %a, %b : (tensor<2x3xi1>, tensor<2x3xi32>) -> tensor<2x3xi1>
  // CHECK: rhs has element type i32, expected bool: compare, as in x > 0
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xi1>) {
  %r = train.logical_or %a, %b : (tensor<2x3xf32>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: lhs has element type f32, expected bool: compare, as in x > 0
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.logical_not %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: x has element type f32, expected bool: compare, as in x > 0
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.where %a, %a, %a : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: the condition has element type f32, expected bool: compare, as in x > 0
  func.return
}

// -----

func.func @f(%a: tensor<2xi1>, %b: tensor<2x3xf32>) {
  %r = train.where %a, %b, %b : (tensor<2xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: shapes 2 of the condition and 2x3 do not broadcast
  func.return
}

// -----

func.func @f(%a: tensor<2x3xi1>, %b: tensor<2x3xf32>) {
  %r = train.where %a, %a, %b : (tensor<2x3xi1>, tensor<2x3xi1>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: element types differ: bool and f32
  func.return
}
