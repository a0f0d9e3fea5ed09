// RUN: npuc opt %s -p "quantize{to=bfp-high}" | filecheck %s
// RUN: npuc opt %s -p "quantize{to=int8 rounding=nearest}" | filecheck %s --check-prefix=INT
// RUN: npuc opt %s -p "quantize{to=fast steps=100},quantize{to=fast}" | filecheck %s --check-prefix=FAST

// Block floats share exponents along the axis that is summed; a sum of scaled integers starts from nothing, and its
// bias is added to what it stands for.

func.func @step(%x: tensor<4x32xf32> {train.input = "x"}, %w: tensor<32x8xf32> {train.param = "w"},
    %b: tensor<8xf32> {train.param = "b"}) -> (tensor<4x8xf32> {train.output = "y"}) {
  %y = npu.contract (m = 4, n = 8, k = 32) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W)
    {layer = "fc"} : (tensor<4x32xf32>, tensor<32x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// CHECK:      %x_q = npu.vector quantize(%x) <{axis = 1 : i64, rounding = "nearest", seed = 0 : i64}> ops 640 again [0] groups 1 {layer = "fc"} : (tensor<4x32xf32>) -> tensor<4x32x!npu.bfp<4, 16, 3>>
// CHECK-NEXT: %w_q = npu.vector quantize(%w) {{.*}} ops 1280 again [0] groups 1 {layer = "fc"} : (tensor<32x8xf32>) -> tensor<32x8x!npu.bfp<4, 16, 3>>
// CHECK-NEXT: %y = npu.contract (m = 4, n = 8, k = 32) ins(X = %x_q[m, k], W = %w_q[k, n]) outs(Y[m, n] from %b[n]) do(Y += X * W) {layer = "fc"}
// CHECK-SAME:   (tensor<4x32x!npu.bfp<4, 16, 3>>, tensor<32x8x!npu.bfp<4, 16, 3>>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: func.return %y

// INT:      %x_scale = npu.vector amax_scale(%x) <{to = "i8"}> ops 128
// INT-NEXT: %x_q = npu.vector quantize(%x, %x_scale) {{.*}} ops 384 {layer = "fc"} : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xi8>
// INT-NEXT: %w_scale = npu.vector amax_scale(%w) <{to = "i8"}> ops 256
// INT-NEXT: %w_q = npu.vector quantize(%w, %w_scale) {{.*}} ops 768
// INT-NEXT: %y = npu.contract {{.*}} outs(Y[m, n]) do(Y += X * W) {layer = "fc"} : (tensor<4x32xi8>, tensor<32x8xi8>) -> tensor<4x8xi32>
// INT-NEXT: %y_1 = npu.vector rescale(%y, %x_scale, %w_scale) ops 32 {layer = "fc"} : (tensor<4x8xi32>, tensor<f32>, tensor<f32>) -> tensor<4x8xf32>
// INT-NEXT: %y_2 = npu.vector add(%y_1, %b) ops 32
// INT-NEXT: func.return %y_2

// FAST:      %x_q, %0 = npu.vector fast_quantize(%x, %step) <{low = 2 : i64, axis = 1 : i64, layer = 0 : i64, layers = 1 : i64, steps = 100 : i64, {{.*}}}> ops 1792 again [0] groups 1
// FAST:      %step_new = npu.vector increment(%step) ops 1 {layer = "step", role = "update"} : (tensor<i64>) -> tensor<i64>
// FAST-NEXT: func.return %y, %step_new
