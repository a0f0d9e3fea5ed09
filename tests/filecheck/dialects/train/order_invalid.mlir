// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.flip %x axes [0, 0] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: axes is [0, 0], expected different axes of 4x6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.roll %x axes [0] shifts [1, 2] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: 2 shifts for 1 axes
  func.return
}

// -----

func.func @f(%v: tensor<4xf32>) {
  %r = train.triangle %v : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: x is 4, expected rank 2 or more
  func.return
}
