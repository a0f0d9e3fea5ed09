// RUN: npuc opt %s | filecheck %s

// Transposed convolution: the result says how much of the last stride belongs to it.

func.func @operations(%x1: tensor<2x4x5xf32>, %w1: tensor<4x3x3xf32>, %y1: tensor<2x6x12xf32>,
                      %x2: tensor<2x4x5x3xf32>, %w2: tensor<4x6x3x2xf32>, %y2: tensor<2x6x9x6xf32>,
                      %x3: tensor<2x4x3x5x3xf32>, %w3: tensor<4x6x2x3x2xf32>, %y3: tensor<2x6x6x9x6xf32>) {
  %r0 = train.conv_transpose1d %x1, %w1 stride [2] groups 2 {layer = "c"} : (tensor<2x4x5xf32>, tensor<4x3x3xf32>) -> tensor<2x6x11xf32>
  // CHECK: %r0 = train.conv_transpose1d %x1, %w1 stride [2] groups 2 {layer = "c"} : (tensor<2x4x5xf32>, tensor<4x3x3xf32>) -> tensor<2x6x11xf32>
  %r1 = train.conv_transpose1d %x1, %w1 stride [2] groups 2 : (tensor<2x4x5xf32>, tensor<4x3x3xf32>) -> tensor<2x6x12xf32>
  // CHECK: %r1 = train.conv_transpose1d %x1, %w1 stride [2] groups 2 : (tensor<2x4x5xf32>, tensor<4x3x3xf32>) -> tensor<2x6x12xf32>
  %r2 = train.conv_transpose1d_dx %y1, %w1 stride [2] groups 2 : (tensor<2x6x12xf32>, tensor<4x3x3xf32>) -> tensor<2x4x5xf32>
  // CHECK: %r2 = train.conv_transpose1d_dx %y1, %w1 stride [2] groups 2 : (tensor<2x6x12xf32>, tensor<4x3x3xf32>) -> tensor<2x4x5xf32>
  %r3 = train.conv_transpose1d_dw %x1, %y1 stride [2] groups 2 : (tensor<2x4x5xf32>, tensor<2x6x12xf32>) -> tensor<4x3x3xf32>
  // CHECK: %r3 = train.conv_transpose1d_dw %x1, %y1 stride [2] groups 2 : (tensor<2x4x5xf32>, tensor<2x6x12xf32>) -> tensor<4x3x3xf32>
  %r4 = train.conv_transpose2d %x2, %w2 stride [2, 2] padding [1, 1, 0, 0] : (tensor<2x4x5x3xf32>, tensor<4x6x3x2xf32>) -> tensor<2x6x9x6xf32>
  // CHECK: %r4 = train.conv_transpose2d %x2, %w2 stride [2, 2] padding [1, 1, 0, 0] : (tensor<2x4x5x3xf32>, tensor<4x6x3x2xf32>) -> tensor<2x6x9x6xf32>
  %r5 = train.conv_transpose2d_dx %y2, %w2 stride [2, 2] padding [1, 1, 0, 0] : (tensor<2x6x9x6xf32>, tensor<4x6x3x2xf32>) -> tensor<2x4x5x3xf32>
  // CHECK: %r5 = train.conv_transpose2d_dx %y2, %w2 stride [2, 2] padding [1, 1, 0, 0] : (tensor<2x6x9x6xf32>, tensor<4x6x3x2xf32>) -> tensor<2x4x5x3xf32>
  %r6 = train.conv_transpose2d_dw %x2, %y2 stride [2, 2] padding [1, 1, 0, 0] : (tensor<2x4x5x3xf32>, tensor<2x6x9x6xf32>) -> tensor<4x6x3x2xf32>
  // CHECK: %r6 = train.conv_transpose2d_dw %x2, %y2 stride [2, 2] padding [1, 1, 0, 0] : (tensor<2x4x5x3xf32>, tensor<2x6x9x6xf32>) -> tensor<4x6x3x2xf32>
  %t0 = train.conv_transpose3d %x3, %w3 stride [2, 2, 2] padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x3x5x3xf32>, tensor<4x6x2x3x2xf32>) -> tensor<2x6x6x9x6xf32>
  // CHECK: %t0 = train.conv_transpose3d %x3, %w3 stride [2, 2, 2] padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x3x5x3xf32>, tensor<4x6x2x3x2xf32>) -> tensor<2x6x6x9x6xf32>
  %t1 = train.conv_transpose3d_dx %y3, %w3 stride [2, 2, 2] padding [0, 0, 1, 1, 0, 0] : (tensor<2x6x6x9x6xf32>, tensor<4x6x2x3x2xf32>) -> tensor<2x4x3x5x3xf32>
  // CHECK: %t1 = train.conv_transpose3d_dx %y3, %w3 stride [2, 2, 2] padding [0, 0, 1, 1, 0, 0] : (tensor<2x6x6x9x6xf32>, tensor<4x6x2x3x2xf32>) -> tensor<2x4x3x5x3xf32>
  %t2 = train.conv_transpose3d_dw %x3, %y3 stride [2, 2, 2] padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x3x5x3xf32>, tensor<2x6x6x9x6xf32>) -> tensor<4x6x2x3x2xf32>
  // CHECK: %t2 = train.conv_transpose3d_dw %x3, %y3 stride [2, 2, 2] padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x3x5x3xf32>, tensor<2x6x6x9x6xf32>) -> tensor<4x6x2x3x2xf32>
  func.return
}
