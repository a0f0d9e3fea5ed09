// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%s: tensor<3x2xf32>) {
  %r = train.expand %s : (tensor<3x2xf32>) -> tensor<3x4xf32>
  // CHECK: 3x2 does not broadcast to 3x4
  func.return
}

// -----

func.func @f(%s: tensor<3x1xf32>) {
  %r = train.expand %s : (tensor<3x1xf32>) -> tensor<3xf32>
  // CHECK: 3x1 does not broadcast to 3
  func.return
}
