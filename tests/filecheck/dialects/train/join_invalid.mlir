// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x6xf32>) {
  %r:2 = train.split %x sizes [2, 3] axis 1 : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x3xf32>)
  // CHECK: sizes is [2, 3], 5 in all; axis 1 of x has 6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r:2 = train.split %x sizes [6, 0] axis 1 : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x0xf32>)
  // CHECK: has 0 elements, expected 1
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.split %x sizes [] axis 1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: sizes is [], expected positive sizes
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r:2 = train.split %x sizes [2, 2] axis 0 : (tensor<4x6xf32>) -> (tensor<2x6xf32>, tensor<2x5xf32>)
  // CHECK: expected result tensor<2x6xf32>, tensor<2x6xf32>, got tensor<2x6xf32>, tensor<2x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.split %x sizes [6] axis 2 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: axis is 2, expected -2 to 1 for 4x6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.unbind %x axis 0 : (tensor<4x6xf32>) -> tensor<6xf32>
  // CHECK: got tensor<6xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %y: tensor<6xf32>) {
  %r = train.stack %x, %y axis 0 : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<2x4x6xf32>
  // CHECK: tensors differ: 4x6 f32 and 6 f32
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.stack %x axis 3 : (tensor<4x6xf32>) -> tensor<1x4x6xf32>
  // CHECK: axis is 3, expected -3 to 2 for a stack of 4x6 f32
  func.return
}

// -----

func.func @f() {
  %r = train.stack axis 0 : () -> tensor<4x6xf32>
  // CHECK: expected at least one tensor
  func.return
}
