// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>, %l: tensor<2xf32>) {
  %r = train.nll_loss %a, %l : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<f32>
  // CHECK: the labels have element type f32, expected i32 or i64
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %l: tensor<3xi32>) {
  %r = train.nll_loss %a, %l : (tensor<2x3xf32>, tensor<3xi32>) -> tensor<f32>
  // CHECK: logits are 2x3, labels 3: expected labels of the logits' shape without the last axis, the classes
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %l: tensor<2xi32>) {
  %r = train.cross_entropy %a, %l reduction "max" : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  // CHECK: reduction is 'max', expected one of mean, sum
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %l: tensor<2xi32>) {
  %r = train.cross_entropy %a, %l label_smoothing 1.5 : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  // CHECK: label_smoothing is 1.5, expected 0 to 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %l: tensor<2xi32>) {
  %r = train.cross_entropy_grad %a, %l : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  // CHECK: expected result tensor<2x3xf32>, got tensor<f32>
  func.return
}

// -----

func.func @f(%l: tensor<2xi32>) {
  %r = train.nll_loss_grad %l : (tensor<2xi32>) -> tensor<3x2xf32>
  // CHECK: logits are 3x2, labels 2: expected labels of the logits' shape without the last axis, the classes
  func.return
}
