// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.argmax %x axis 1 : (tensor<4x6xf32>) -> tensor<4x1xf32>
  // CHECK: expected result tensor<4x1xi32>, got tensor<4x1xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r = train.amax %x axes [0, 0] : (tensor<4x6xf32>) -> tensor<1x6xf32>
  // CHECK: axes is [0, 0], expected ascending axes of 4x6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x2xf32>) {
  %r = train.extreme_grad %y, %x, %y : (tensor<4x2xf32>, tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x6xf32>
  // CHECK: 4x2 is no reduction of 4x6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x1xf64>) {
  %r = train.extreme_grad %y, %x, %y : (tensor<4x1xf64>, tensor<4x6xf32>, tensor<4x1xf64>) -> tensor<4x6xf32>
  // CHECK: element types differ: f64 and f32
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x1xf32>) {
  %r = train.extreme_grad %y, %x, %x : (tensor<4x1xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: dy is tensor<4x1xf32>, y is tensor<4x6xf32>
  func.return
}
