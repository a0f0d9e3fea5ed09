// RUN: npuc opt -p "parallelize{strategy=joint devices=2 convention=physical objective=time}" %s | filecheck %s
// RUN: npuc opt -p "parallelize{strategy=joint devices=2 convention=physical objective=memory}" %s | filecheck %s --check-prefix=MEMORY

// Work that the function says takes less along the channels, on a network where a message costs next to nothing. What
// was said is used up.

func.func @net(
  %x: tensor<8x8xf32> {train.input = "x"},
  %t: tensor<8x8xf32> {train.input = "t"},
  %w: tensor<8x8xf32> {train.param = "w"}
) -> (tensor<f32> {train.loss})
  attributes {dist.times = {
    levels = [{kind = "pair", size = 2 : i64, bytes_per_s = "1000000000", latency_s = "1/1000000000"}],
    work = [{I = 3.0 : f64, II = 2.0 : f64, III = 2.5 : f64}], rest = 0.5 : f64
  }}
{
  %0 = train.matmul %x, %w {layer = "fc"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = train.dot_loss %0, %t {layer = "loss"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<f32>
  func.return %1 : tensor<f32>
}

// CHECK: func.func @net(%x: tensor<8x4xf32>
// CHECK-NOT: dist.times
// CHECK-SAME: layers = {fc = "II"}
// CHECK-SAME: objective = "time", cost = 2.500000258 : f64

// Along the batch a device keeps 64 elements of w and half of x and t, along the channels half of w and of x or t. With
// the output's channels less is moved than with the input's.

// MEMORY: layers = {fc = "III"}
// MEMORY-SAME: objective = "memory", cost = 5.120000e+02 : f64
