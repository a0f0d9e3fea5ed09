// RUN: npuc opt %s | filecheck %s

// Losses between probabilities: the text that prints is the text that was read.

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) {
  %r0 = train.binary_cross_entropy %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: %r0 = train.binary_cross_entropy %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %r1 = train.binary_cross_entropy_grad %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r1 = train.binary_cross_entropy_grad %a, %b reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = train.binary_cross_entropy_target_grad %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.binary_cross_entropy_target_grad %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = train.binary_cross_entropy_with_logits %a, %b pos_weight 2.5 reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: %r3 = train.binary_cross_entropy_with_logits %a, %b pos_weight 2.5 reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %r4 = train.binary_cross_entropy_with_logits_grad %a, %b pos_weight 2.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r4 = train.binary_cross_entropy_with_logits_grad %a, %b pos_weight 2.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r5 = train.binary_cross_entropy_with_logits_target_grad %a reduction "sum" : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r5 = train.binary_cross_entropy_with_logits_target_grad %a reduction "sum" : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r6 = train.kl_div %a, %b log_target reduction "batchmean" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: %r6 = train.kl_div %a, %b log_target reduction "batchmean" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %r7 = train.kl_div_grad %a log_target : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r7 = train.kl_div_grad %a log_target : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r8 = train.kl_div_target_grad %a, %b reduction "batchmean" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r8 = train.kl_div_target_grad %a, %b reduction "batchmean" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}
