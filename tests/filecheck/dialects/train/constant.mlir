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
  %r5 = train.integers values [1, 0] : () -> tensor<1x2xi1>
  // CHECK: %r5 = train.integers values [1, 0] : () -> tensor<1x2xi1>
  %r6 = train.numbers values [0.1, -2.0, 1.0e-30, 1.0] : () -> tensor<2x2xf32>
  // CHECK: %r6 = train.numbers values [0.1, -2.0, 1.0e-30, 1.0] : () -> tensor<2x2xf32>
  func.return
}
