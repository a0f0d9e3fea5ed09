// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r = train.sgd %a, %a lr 0.1 nesterov : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: nesterov needs a momentum and no dampening, got 0.0 and 0.0
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %v = train.sgd %a, %a, %a lr 0.1 momentum 0.9 dampening 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: momentum is 0.9, dampened, with 1 of velocity and step
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %m, %s = train.adam %a, %a, %a, %a, %step lr 0.1 amsgrad : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: found 1 operands behind the squares, expected the largest square and the step
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %m, %s, %l = train.adam %a, %a, %a, %a, %b, %step lr 0.1 amsgrad : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>)
  // CHECK: the parameter is 2x3, its gradient or state 2
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %m, %s = train.adam %a, %a, %a, %a, %a, %step lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: found 2 operands behind the squares, expected the step
  func.return
}
