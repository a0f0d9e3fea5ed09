// RUN: npuc opt %s | filecheck %s

// Boxes: the text that prints is the text that was read.

func.func @operations(%x: tensor<4x6xf32>, %p: tensor<4x3xf32>) {
  %r0 = train.slice %x starts [1, 0] steps [2, 3] : (tensor<4x6xf32>) -> tensor<2x2xf32>
  // CHECK: %r0 = train.slice %x starts [1, 0] steps [2, 3] : (tensor<4x6xf32>) -> tensor<2x2xf32>
  %r1 = train.slice %x starts [0, 4] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  // CHECK: %r1 = train.slice %x starts [0, 4] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %r2 = train.pad %p starts [0, 1] steps [1, 2] : (tensor<4x3xf32>) -> tensor<4x6xf32>
  // CHECK: %r2 = train.pad %p starts [0, 1] steps [1, 2] : (tensor<4x3xf32>) -> tensor<4x6xf32>
  %r3 = train.pad %p starts [2, 0] value -1.5 : (tensor<4x3xf32>) -> tensor<6x3xf32>
  // CHECK: %r3 = train.pad %p starts [2, 0] value -1.5 : (tensor<4x3xf32>) -> tensor<6x3xf32>
  %r4 = train.border_pad %p starts [0, 2] mode "reflect" : (tensor<4x3xf32>) -> tensor<5x6xf32>
  // CHECK: %r4 = train.border_pad %p starts [0, 2] mode "reflect" : (tensor<4x3xf32>) -> tensor<5x6xf32>
  %r5 = train.border_pad_dx %x starts [0, 3] mode "replicate" : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // CHECK: %r5 = train.border_pad_dx %x starts [0, 3] mode "replicate" : (tensor<4x6xf32>) -> tensor<4x3xf32>
  func.return
}
