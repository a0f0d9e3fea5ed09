// RUN: npuc opt %s | filecheck %s

// Convolution over one and three axes: the text that prints is the text that was read.

func.func @operations(%x1: tensor<2x4x9xf32>, %w1: tensor<6x2x3xf32>, %y1: tensor<2x6x4xf32>,
                      %x3: tensor<2x4x5x6x7xf32>, %w3: tensor<6x4x2x3x3xf32>, %y3: tensor<2x6x4x6x5xf32>) {
  %r0 = train.conv1d %x1, %w1 stride [2] padding [0, 1] dilation [2] groups 2 {layer = "c"} : (tensor<2x4x9xf32>, tensor<6x2x3xf32>) -> tensor<2x6x3xf32>
  // CHECK: %r0 = train.conv1d %x1, %w1 stride [2] padding [0, 1] dilation [2] groups 2 {layer = "c"} : (tensor<2x4x9xf32>, tensor<6x2x3xf32>) -> tensor<2x6x3xf32>
  %r1 = train.conv1d_dx %y1, %w1 stride [2] groups 2 : (tensor<2x6x4xf32>, tensor<6x2x3xf32>) -> tensor<2x4x9xf32>
  // CHECK: %r1 = train.conv1d_dx %y1, %w1 stride [2] groups 2 : (tensor<2x6x4xf32>, tensor<6x2x3xf32>) -> tensor<2x4x9xf32>
  %r2 = train.conv1d_dw %x1, %y1 stride [2] groups 2 : (tensor<2x4x9xf32>, tensor<2x6x4xf32>) -> tensor<6x2x3xf32>
  // CHECK: %r2 = train.conv1d_dw %x1, %y1 stride [2] groups 2 : (tensor<2x4x9xf32>, tensor<2x6x4xf32>) -> tensor<6x2x3xf32>
  %r3 = train.conv3d %x3, %w3 padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x5x6x7xf32>, tensor<6x4x2x3x3xf32>) -> tensor<2x6x4x6x5xf32>
  // CHECK: %r3 = train.conv3d %x3, %w3 padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x5x6x7xf32>, tensor<6x4x2x3x3xf32>) -> tensor<2x6x4x6x5xf32>
  %r4 = train.conv3d_dx %y3, %w3 padding [0, 0, 1, 1, 0, 0] : (tensor<2x6x4x6x5xf32>, tensor<6x4x2x3x3xf32>) -> tensor<2x4x5x6x7xf32>
  // CHECK: %r4 = train.conv3d_dx %y3, %w3 padding [0, 0, 1, 1, 0, 0] : (tensor<2x6x4x6x5xf32>, tensor<6x4x2x3x3xf32>) -> tensor<2x4x5x6x7xf32>
  %r5 = train.conv3d_dw %x3, %y3 padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x5x6x7xf32>, tensor<2x6x4x6x5xf32>) -> tensor<6x4x2x3x3xf32>
  // CHECK: %r5 = train.conv3d_dw %x3, %y3 padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x5x6x7xf32>, tensor<2x6x4x6x5xf32>) -> tensor<6x4x2x3x3xf32>
  func.return
}
