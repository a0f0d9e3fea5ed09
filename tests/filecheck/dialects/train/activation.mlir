// RUN: npuc opt %s | filecheck %s

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %x: tensor<2x4x8x8xf32>, %c: tensor<4xf32>) {
  %r0 = train.clip %a low -1.0 high 1.0 closed : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r0 = train.clip %a low -1.0 high 1.0 closed : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r1 = train.clip_grad %a, %b closed : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r1 = train.clip_grad %a, %b closed : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = train.leaky_relu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.leaky_relu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = train.leaky_relu %a slope 0.5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r3 = train.leaky_relu %a slope 0.5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r4 = train.leaky_relu_grad %a, %b slope 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r4 = train.leaky_relu_grad %a, %b slope 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r5 = train.prelu %x, %c : (tensor<2x4x8x8xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: %r5 = train.prelu %x, %c : (tensor<2x4x8x8xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %r6 = train.prelu_dx %x, %x, %c : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: %r6 = train.prelu_dx %x, %x, %c : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %r7 = train.prelu_dw %x, %x : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<4xf32>
  // CHECK: %r7 = train.prelu_dw %x, %x : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<4xf32>
  %r8 = train.hard_sigmoid %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r8 = train.hard_sigmoid %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r9 = train.hard_sigmoid_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r9 = train.hard_sigmoid_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r10 = train.hard_swish %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r10 = train.hard_swish %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r11 = train.hard_swish_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r11 = train.hard_swish_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
