// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<2x4x3xf32>, %c: tensor<4xf32>) {
  %m = train.channel_mean %x : (tensor<2x4x3xf32>) -> tensor<4xf32>
  // CHECK: %m = train.channel_mean %x : (tensor<2x4x3xf32>) -> tensor<4xf32>
  %v = train.channel_var %x, %m : (tensor<2x4x3xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %v = train.channel_var %x, %m : (tensor<2x4x3xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r2 = train.channel_var_dx %c, %x, %m : (tensor<4xf32>, tensor<2x4x3xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  // CHECK: %r2 = train.channel_var_dx %c, %x, %m : (tensor<4xf32>, tensor<2x4x3xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  %r3 = train.normalize %x, %c, %c, %m, %v eps 0.5 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  // CHECK: %r3 = train.normalize %x, %c, %c, %m, %v eps 0.5 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  %r4 = train.normalize_dx %x, %v : (tensor<2x4x3xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  // CHECK: %r4 = train.normalize_dx %x, %v : (tensor<2x4x3xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  %r5 = train.normalize_dx %x, %c, %v eps 0.5 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  // CHECK: %r5 = train.normalize_dx %x, %c, %v eps 0.5 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>
  %a6, %b6 = train.normalize_dstats %x, %x, %c, %m, %v : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: %a6, %b6 = train.normalize_dstats %x, %x, %c, %m, %v : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %a7, %b7 = train.normalize_dstats %x, %x, %m, %v eps 0.5 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: %a7, %b7 = train.normalize_dstats %x, %x, %m, %v eps 0.5 : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.return
}
