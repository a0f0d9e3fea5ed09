// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.slice %x starts [0, 1] steps [1, 3] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: axis 1: 1 to 8 lies outside 0 to 6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.slice %x starts [0, 1] steps [1, 0] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: steps is [1, 0], expected 2 positive integers
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.slice %x starts [0, 1] steps [1] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: steps is [1], expected 2 positive integers
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.slice %x starts [0, -1] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: axis 1: -1 to 2 lies outside 0 to 6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.border_pad %x starts [4, 0] mode "reflect" : (tensor<4x6xf32>) -> tensor<8x6xf32>
  // CHECK: axis 0 of size 4 has no 4 elements to reflect
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.border_pad %x starts [0, 0] mode "around" : (tensor<4x6xf32>) -> tensor<8x6xf32>
  // CHECK: mode is 'around', expected one of reflect, replicate, circular
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.border_pad %x starts [5, 0] mode "circular" : (tensor<4x6xf32>) -> tensor<9x6xf32>
  // CHECK: axis 0 of size 4 has no 5 elements to repeat
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.border_pad_dx %x starts [0, 4] mode "replicate" : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: axis 1: 4 to 7 lies outside 0 to 6
  func.return
}
