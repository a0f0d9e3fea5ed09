// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x6xf32>) {
  %p = train.nonzero %x size 25 : (tensor<4x6xf32>) -> tensor<25x2xi32>
  // CHECK: size is 25, expected 1 to 24, the elements of x
  func.return
}

// -----

func.func @f(%x: tensor<f32>) {
  %p = train.nonzero %x size 1 : (tensor<f32>) -> tensor<1x1xi32>
  // CHECK: x is a scalar, expected a tensor
  func.return
}

// -----

func.func @f(%b: tensor<2x6x5xf32>, %s: tensor<2x3x6xf32>) {
  %p = train.nms %b, %s size 4 iou 0.5 : (tensor<2x6x5xf32>, tensor<2x3x6xf32>) -> tensor<4x3xi32>
  // CHECK: boxes are no tensor of [batch, n, 4]
  func.return
}

// -----

func.func @f(%b: tensor<2x6x4xf32>, %s: tensor<2x3x5xf32>) {
  %p = train.nms %b, %s size 4 iou 0.5 : (tensor<2x6x4xf32>, tensor<2x3x5xf32>) -> tensor<4x3xi32>
  // CHECK: scores are no tensor of [2, classes, 6]
  func.return
}

// -----

func.func @f(%b: tensor<2x6x4xf32>, %s: tensor<2x3x6xf32>) {
  %p = train.nms %b, %s size 13 iou 0.5 most 2 : (tensor<2x6x4xf32>, tensor<2x3x6xf32>) -> tensor<13x3xi32>
  // CHECK: size is 13, expected 1 to 12, the boxes that may stay
  func.return
}
