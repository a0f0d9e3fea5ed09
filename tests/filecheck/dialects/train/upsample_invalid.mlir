// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<1x7x7xf32>) {
  %r = train.upsample_nearest %a size [3, 3] : (tensor<1x7x7xf32>) -> tensor<1x3x3xf32>
  // CHECK: the input must be [batch, channels, height, width], got 1x7x7
  func.return
}

// -----

func.func @f(%a: tensor<1x1x7x7xf32>) {
  %r = train.upsample_nearest %a size [3] : (tensor<1x1x7x7xf32>) -> tensor<1x1x3x3xf32>
  // CHECK: size is [3], expected two integers of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<1x1x7x7xf32>) {
  %r = train.upsample_bilinear %a scale_h -1.0 size [3, 3] : (tensor<1x1x7x7xf32>) -> tensor<1x1x3x3xf32>
  // CHECK: the scales are -1.0 and 0.0, expected numbers of at least 0
  func.return
}

// -----

func.func @f(%a: tensor<1x2x6x6xf32>) {
  %r = train.upsample_bilinear_grad %a : (tensor<1x2x6x6xf32>) -> tensor<1x3x3x3xf32>
  // CHECK: dy is 1x2x6x6, the resized image is 1x3x6x6
  func.return
}

// -----

func.func @f(%a: tensor<1x1x7x7xi32>) {
  %r = train.upsample_bilinear %a size [3, 3] : (tensor<1x1x7x7xi32>) -> tensor<1x1x3x3xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}
