// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>, %h: tensor<f32>, %step: tensor<i64>) {
  %r = train.dropback %a, %a, %step lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: found 1 states, expected 2: initial, step
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %h: tensor<f32>, %step: tensor<i64>) {
  %r, %w = train.dropback %a, %a, %a, %step lr 0.1 regenerate quantile : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: threshold is 2x3, expected a scalar
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %h: tensor<f32>, %step: tensor<i64>) {
  %r, %w = train.dropback %a, %a, %h, %step lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<f32>)
  // CHECK: the parameter is 2x3, its gradient or state scalar
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %h: tensor<f32>, %step: tensor<i64>) {
  %r, %w = train.dropback %a, %a, %a, %step lr 0.1 keep 0.0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: keep is 0.0, expected above 0 and at most 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %h: tensor<f32>, %step: tensor<i64>) {
  %r, %w = train.dropback %a, %a, %a, %step lr 0.1 decay 1.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: decay is 1.5, expected 0 to 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %h: tensor<f32>, %step: tensor<i64>) {
  %r, %w = train.dropback %a, %a, %a, %step lr 0.1 rate 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: rate is 1.0, expected above 0 and below 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %h: tensor<f32>, %step: tensor<i64>) {
  %r = train.dropback %a, %a, %step lr 0.1 regenerate seed 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: seed is 0.5, expected a whole number of at least 0
  func.return
}
