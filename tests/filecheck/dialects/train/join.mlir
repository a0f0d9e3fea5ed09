// RUN: npuc opt %s | filecheck %s

// Joining and taking apart: the text that prints is the text that was read.

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %x: tensor<5x4xi32>) {
  %r0, %r1 = train.split %x sizes [2, 3] axis 0 : (tensor<5x4xi32>) -> (tensor<2x4xi32>, tensor<3x4xi32>)
  // CHECK: %r0, %r1 = train.split %x sizes [2, 3] axis 0 : (tensor<5x4xi32>) -> (tensor<2x4xi32>, tensor<3x4xi32>)
  %r2 = train.split %x sizes [4] axis -1 : (tensor<5x4xi32>) -> tensor<5x4xi32>
  // CHECK: %r2 = train.split %x sizes [4] axis -1 : (tensor<5x4xi32>) -> tensor<5x4xi32>
  %r3, %r4, %r5, %r6 = train.unbind %x axis 1 {layer = "l"} : (tensor<5x4xi32>) -> (tensor<5xi32>, tensor<5xi32>, tensor<5xi32>, tensor<5xi32>)
  // CHECK: %r3, %r4, %r5, %r6 = train.unbind %x axis 1 {layer = "l"} : (tensor<5x4xi32>) -> (tensor<5xi32>, tensor<5xi32>, tensor<5xi32>, tensor<5xi32>)
  %r7 = train.stack %a, %b, %a axis 2 {layer = "l", role = "dx"} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x3xf32>
  // CHECK: %r7 = train.stack %a, %b, %a axis 2 {layer = "l", role = "dx"} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x3xf32>
  %r8 = train.concat %a, %b axis 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  // CHECK: %r8 = train.concat %a, %b axis 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  func.return
}
