// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<4xf32>) {
  %m = train.channel_mean %a : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: the input must be [batch, channels, …], got 4
  func.return
}

// -----

func.func @f(%a: tensor<2x4xi32>) {
  %m = train.channel_mean %a : (tensor<2x4xi32>) -> tensor<4xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>) {
  %m = train.channel_mean %a : (tensor<2x4xf32>) -> tensor<2xf32>
  // CHECK: expected result tensor<4xf32>, got tensor<2xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<2xf32>) {
  %v = train.channel_var %a, %c : (tensor<2x4xf32>, tensor<2xf32>) -> tensor<4xf32>
  // CHECK: mean is tensor<2xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<2xf32>) {
  %d = train.channel_var_dx %c, %a, %c : (tensor<2xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  // CHECK: dvar is tensor<2xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<4xf32>, %b: tensor<2xf32>) {
  %d = train.channel_var_dx %c, %a, %b : (tensor<4xf32>, tensor<2x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  // CHECK: mean is tensor<2xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<4xf32>, %b: tensor<3xf32>) {
  %d = train.normalize %a, %c, %b : (tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  // CHECK: variance is tensor<3xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<4xf32>, %b: tensor<3xf32>) {
  %d = train.normalize_dx %a, %c, %b : (tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  // CHECK: variance is tensor<3xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<4xf32>, %b: tensor<3xf32>) {
  %d = train.normalize_dx %a, %b, %c : (tensor<2x4xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK: scale is tensor<3xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %c: tensor<4xf32>, %b: tensor<3xf32>) {
  %d, %e = train.normalize_dstats %a, %a, %c, %b : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: variance is tensor<3xf32>, expected tensor<4xf32>
  func.return
}
