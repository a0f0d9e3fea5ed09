// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<2x3x8x8xf32>, %g: tensor<2x4x5x2xf32>, %v: tensor<2x3x2x8x8xf32>, %h: tensor<2x2x4x5x3xf32>) {
  %r0 = train.grid_sample %x, %g : (tensor<2x3x8x8xf32>, tensor<2x4x5x2xf32>) -> tensor<2x3x4x5xf32>
  // CHECK: %r0 = train.grid_sample %x, %g : (tensor<2x3x8x8xf32>, tensor<2x4x5x2xf32>) -> tensor<2x3x4x5xf32>
  %r1 = train.grid_sample_dx %r0, %g : (tensor<2x3x4x5xf32>, tensor<2x4x5x2xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: %r1 = train.grid_sample_dx %r0, %g : (tensor<2x3x4x5xf32>, tensor<2x4x5x2xf32>) -> tensor<2x3x8x8xf32>
  %r2 = train.grid_sample_dgrid %r0, %x, %g : (tensor<2x3x4x5xf32>, tensor<2x3x8x8xf32>, tensor<2x4x5x2xf32>) -> tensor<2x4x5x2xf32>
  // CHECK: %r2 = train.grid_sample_dgrid %r0, %x, %g : (tensor<2x3x4x5xf32>, tensor<2x3x8x8xf32>, tensor<2x4x5x2xf32>) -> tensor<2x4x5x2xf32>
  %r3 = train.grid_sample %x, %g mode "bicubic" padding "reflection" corners : (tensor<2x3x8x8xf32>, tensor<2x4x5x2xf32>) -> tensor<2x3x4x5xf32>
  // CHECK: %r3 = train.grid_sample %x, %g mode "bicubic" padding "reflection" corners : (tensor<2x3x8x8xf32>, tensor<2x4x5x2xf32>) -> tensor<2x3x4x5xf32>
  %r4 = train.grid_sample %v, %h mode "nearest" padding "border" : (tensor<2x3x2x8x8xf32>, tensor<2x2x4x5x3xf32>) -> tensor<2x3x2x4x5xf32>
  // CHECK: %r4 = train.grid_sample %v, %h mode "nearest" padding "border" : (tensor<2x3x2x8x8xf32>, tensor<2x2x4x5x3xf32>) -> tensor<2x3x2x4x5xf32>
  func.return
}
