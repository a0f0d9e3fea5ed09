// RUN: npuc opt %s -p "gradient-noise{sigma=0.01 seed=2}" | filecheck %s

// Each update reads a gradient with noise of its own; the step is counted where nothing counts it yet.

func.func @step(%w: tensor<4x8xf32> {train.param = "w"}, %b: tensor<8xf32> {train.param = "b"},
    %g: tensor<4x8xf32> {train.input = "g"}, %h: tensor<8xf32> {train.input = "h"})
    -> (tensor<4x8xf32> {train.updates = 0 : i64}, tensor<8xf32> {train.updates = 1 : i64}) {
  %w1 = train.sgd %w, %g lr 0.5 {layer = "w", role = "update"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %b1 = train.sgd %b, %h lr 0.5 {layer = "b", role = "update"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %w1, %b1 : tensor<4x8xf32>, tensor<8xf32>
}

// CHECK:      func.func @step({{.*}}, %step: tensor<i64> {train.state = "step", train.fill = 0.000000e+00 : f64})
// CHECK-SAME:   tensor<i64> {train.updates = 4 : i64}
// CHECK-NEXT: %g_noisy = train.gradient_noise %g, %step sigma 0.01 seed 2097152 {layer = "w", role = "dw"}
// CHECK-NEXT: %w1 = train.sgd %w, %g_noisy lr 0.5
// CHECK-NEXT: %h_noisy = train.gradient_noise %h, %step sigma 0.01 seed 2097153 {layer = "b", role = "dw"}
// CHECK-NEXT: %b1 = train.sgd %b, %h_noisy lr 0.5
// CHECK-NEXT: %step_new = train.increment %step {layer = "step", role = "update"}
// CHECK-NEXT: func.return %w1, %b1, %step_new
