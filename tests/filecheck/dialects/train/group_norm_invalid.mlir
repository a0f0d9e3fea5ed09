// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x4xf32>) {
  %r, %m, %v = train.group_norm %a groups 3 : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: groups is 3, expected a divisor of 4 channels
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<2xf32>) {
  %r, %m, %v = train.group_norm %a, %c groups 2 : (tensor<2x4xf32>, tensor<2xf32>) -> (tensor<2x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
  // CHECK: scale is tensor<2xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<4xf32>) {
  %r, %m, %v = train.group_norm %a : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  // CHECK: the input must be [batch, channels, …], got 4
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<2x2xf32>, %c: tensor<2x1xf32>) {
  %r = train.group_norm_dx %a, %a, %b, %c groups 2 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  // CHECK: variance is tensor<2x1xf32>, expected tensor<2x2xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<2x2xf32>, %c: tensor<2x1xf32>) {
  %r = train.group_norm_dw %a, %a, %c, %b groups 2 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<4xf32>
  // CHECK: mean is tensor<2x1xf32>, expected tensor<2x2xf32>
  func.return
}
