// RUN: npuc opt %s | filecheck %s

// Number formats of few bits: conversions, scales, and noise.

func.func @f(%x: tensor<4x32xf32> {npuc.name = "x"}, %step: tensor<i64> {npuc.name = "step"}) -> (
    tensor<4x32x!npu.bfp<4, 16, 3>> {npuc.name = "a"}, tensor<4x32xf32> {npuc.name = "b"}, tensor<4x32xf32> {npuc.name = "c"}) {
  %a = train.quantize %x axis 1 : (tensor<4x32xf32>) -> tensor<4x32x!npu.bfp<4, 16, 3>>
  %b = train.quantize %x, %step axis 1 rounding "stochastic" seed 5 : (tensor<4x32xf32>, tensor<i64>) -> tensor<4x32x!npu.bfp<2, 8, 8>>
  %s = train.amax_scale %x to "i8" : (tensor<4x32xf32>) -> tensor<f32>
  %q = train.quantize %x, %s : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xi8>
  %e = train.quantize %x, %s, %step rounding "stochastic" : (tensor<4x32xf32>, tensor<f32>, tensor<i64>) -> tensor<4x32xf8E4M3FN>
  %r = train.rescale %q, %s, %s : (tensor<4x32xi8>, tensor<f32>, tensor<f32>) -> tensor<4x32xf32>
  %f, %bits = train.fast_quantize %x, %step axis 1 low 2 layer 3 layers 8 steps 100 : (tensor<4x32xf32>, tensor<i64>) -> (tensor<4x32x!npu.bfp<4, 16, 3>>, tensor<i32>)
  %n = train.gradient_noise %x, %step sigma 0.01 : (tensor<4x32xf32>, tensor<i64>) -> tensor<4x32xf32>
  func.return %a, %r, %n : tensor<4x32x!npu.bfp<4, 16, 3>>, tensor<4x32xf32>, tensor<4x32xf32>
}

// CHECK:      %a = train.quantize %x axis 1 : (tensor<4x32xf32>) -> tensor<4x32x!npu.bfp<4, 16, 3>>
// CHECK-NEXT: %b = train.quantize %x, %step axis 1 rounding "stochastic" seed 5 : (tensor<4x32xf32>, tensor<i64>) -> tensor<4x32x!npu.bfp<2, 8, 8>>
// CHECK-NEXT: %s = train.amax_scale %x to "i8" : (tensor<4x32xf32>) -> tensor<f32>
// CHECK-NEXT: %q = train.quantize %x, %s : (tensor<4x32xf32>, tensor<f32>) -> tensor<4x32xi8>
// CHECK-NEXT: %e = train.quantize %x, %s, %step rounding "stochastic" : (tensor<4x32xf32>, tensor<f32>, tensor<i64>) -> tensor<4x32xf8E4M3FN>
// CHECK-NEXT: %r = train.rescale %q, %s, %s : (tensor<4x32xi8>, tensor<f32>, tensor<f32>) -> tensor<4x32xf32>
// CHECK-NEXT: %f, %bits = train.fast_quantize %x, %step axis 1 low 2 layer 3 layers 8 steps 100 :
// CHECK-NEXT: %n = train.gradient_noise %x, %step sigma 0.01 : (tensor<4x32xf32>, tensor<i64>) -> tensor<4x32xf32>
