// RUN: npuc opt %s -p 'nm-recipe{pattern="2:4" transposable=true strength=0.5}' | filecheck %s
// RUN: npuc opt %s -p 'nm-recipe{pattern="1:4" kind=linear steps=100}' | filecheck %s --check-prefix=FADING

// Both products read one value of pruned weights, N:M along the axes that they sum; the update reads a pulled gradient.

func.func @step(%x: tensor<4x32xf32> {train.input = "x"}, %dy: tensor<4x8xf32> {train.input = "dy"},
    %dw: tensor<32x8xf32> {train.input = "dw"}, %w: tensor<32x8xf32> {train.param = "w"})
    -> (tensor<4x8xf32>, tensor<4x32xf32>, tensor<32x8xf32> {train.updates = 3 : i64}) {
  %y = npu.contract (m = 4, n = 8, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {layer = "l"}
    : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  %dx = npu.contract (m = 4, n = 8, k = 32) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W) {layer = "l", role = "dx"}
    : (tensor<4x8xf32>, tensor<32x8xf32>) -> tensor<4x32xf32>
  %w1 = npu.vector sgd(%w, %dw) <{lr = 0.5 : f64, momentum = 0.0 : f64, weight_decay = 0.0 : f64, dampening = 0.0 : f64}> ops 512 {layer = "w", role = "update"}
    : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  func.return %y, %dx, %w1 : tensor<4x8xf32>, tensor<4x32xf32>, tensor<32x8xf32>
}

// CHECK:      %w_p = npu.vector prune(%w) <{pattern = "n:m", kept = 2 : i64, of = 4 : i64, axis = 0 : i64, across = 1 : i64, seed = 0 : i64}>
// CHECK-SAME:   -> tensor<32x8x!npu.sparse<f32, 1/2, nm<2, 4, 0, 1>>>
// CHECK:      npu.contract {{.*}} ins(X = %x[m, k], W = %w_p[k, n])
// CHECK:      npu.contract {{.*}} ins(dY = %dy[m, n], W = %w_p[k, n])
// CHECK:      %w_pull = npu.vector sr_ste(%dw, %w) <{strength = 5.000000e-01 : f64, {{.*}}kept = 2 : i64, of = 4 : i64
// CHECK:      npu.vector sgd(%w, %w_pull)

// FADING:      %beta = npu.vector mask_decay(%step) <{{.*}}steps = 100 : i64
// FADING:      %w_p = npu.vector prune(%w, %beta) {{.*}} -> tensor<32x8xf32>
// FADING:      npu.vector increment(%step)
