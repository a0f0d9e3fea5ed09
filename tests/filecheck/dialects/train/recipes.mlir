// RUN: npuc opt %s | npuc opt | filecheck %s

// The factor of a mask that fades in, and the pull of SR-STE.

func.func @f(%step: tensor<i64>, %g: tensor<4x8xf32>, %w: tensor<4x8xf32>) {
  %a = train.mask_decay %step start 10 steps 100 : (tensor<i64>) -> tensor<f32>
  %b = train.mask_decay %step kind "exponential" rate 0.01 : (tensor<i64>) -> tensor<f32>
  %c = train.sr_ste %g, %w strength 0.0002 kept 2 of 4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = train.sr_ste %g, %w strength 0.0002 axis 1 across 0 kept 1 of 4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// CHECK:      %a = train.mask_decay %step start 10 steps 100 : (tensor<i64>) -> tensor<f32>
// CHECK-NEXT: %b = train.mask_decay %step kind "exponential" rate 0.01 : (tensor<i64>) -> tensor<f32>
// CHECK-NEXT: %c = train.sr_ste %g, %w strength 0.0002 kept 2 of 4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %d = train.sr_ste %g, %w strength 0.0002 axis 1 across 0 kept 1 of 4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
