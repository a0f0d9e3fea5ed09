// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x6xf32>) {
  %r, %p = train.sort %x axis 2 : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi32>)
  // CHECK: axis is 2, expected -2 to 1 for 4x6
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %p = train.argsort %x axis 0 : (tensor<4x6xf32>) -> tensor<4x6xi64>
  // CHECK: expected result tensor<4x6xi32>, got tensor<4x6xi64>
  func.return
}

// -----

func.func @f(%x: tensor<4x6xf32>) {
  %r, %p = train.topk %x axis 0 k 5 : (tensor<4x6xf32>) -> (tensor<5x6xf32>, tensor<5x6xi32>)
  // CHECK: k is 5, expected 1 to 4, the size of axis 0
  func.return
}
