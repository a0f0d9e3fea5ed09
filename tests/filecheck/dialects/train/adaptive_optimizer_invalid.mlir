// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %s = train.rmsprop %a, %a, %a lr 0.1 momentum 0.9 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: found 1 states, expected 2: square, momentum
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %s = train.adagrad %a, %a, %b lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>)
  // CHECK: the parameter is 2x3, its gradient or state 2
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %m, %n = train.adamax %a, %a, %a, %a, %b lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: step is 2, expected a scalar
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %m, %n = train.nadam %a, %a, %a, %a, %step beta1 1.0 lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: beta1 is 1.0, expected at least 0 and below 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %m, %n = train.lamb %a, %a, %a, %a lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: found 2 states, expected 3: mean, square, step
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %m = train.lion %a, %a, %a beta2 -0.5 lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: beta2 is -0.5, expected at least 0 and below 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %step: tensor<i64>) {
  %r, %m, %n = train.adadelta %a, %a, %a, %a rho 1.5 lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: rho is 1.5, expected 0 to 1
  func.return
}
