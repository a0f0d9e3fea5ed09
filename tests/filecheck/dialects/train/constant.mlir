// RUN: npuc opt %s | filecheck %s

// Constants: the text that prints is the text that was read.

func.func @operations() {
  %r0 = train.arange start 1.0 step 0.5 : () -> tensor<4xf32>
  // CHECK: %r0 = train.arange start 1.0 step 0.5 : () -> tensor<4xf32>
  %r1 = train.arange : () -> tensor<4xi64>
  // CHECK: %r1 = train.arange : () -> tensor<4xi64>
  %r2 = train.integers values [0, -2, 1] : () -> tensor<3xi32>
  // CHECK: %r2 = train.integers values [0, -2, 1] : () -> tensor<3xi32>
  %r3 = train.causal_mask offset -1 : () -> tensor<4x5xi1>
  // CHECK: %r3 = train.causal_mask offset -1 : () -> tensor<4x5xi1>
  %r4 = train.causal_mask : () -> tensor<4x4xi1>
  // CHECK: %r4 = train.causal_mask : () -> tensor<4x4xi1>
  func.return
}
