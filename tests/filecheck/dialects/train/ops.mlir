// RUN: npuc opt %s | filecheck %s

// One operation of each kind: the text that prints is the text that was read.

func.func @operations(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %row: tensor<3xf32>, %two: tensor<2xf32>, %ids: tensor<5xi32>, %l: tensor<2xi32>,
                      %rows: tensor<5x3xf32>, %step: tensor<i64>, %x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %y: tensor<2x6x8x8xf32>,
                      %p: tensor<2x4x4x4xf32>, %c: tensor<4xf32>) {
  %r0 = train.add %a, %row {layer = "l", role = "dw"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: %r0 = train.add %a, %row {layer = "l", role = "dw"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %r1 = train.sub %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r1 = train.sub %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r2 = train.mul %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r2 = train.mul %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r3 = train.div %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r3 = train.div %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r4 = train.affine %a scale 2.0 offset -0.5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r4 = train.affine %a scale 2.0 offset -0.5 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r5 = train.affine %a scale 1.0e-05 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r5 = train.affine %a scale 1.0e-05 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r6 = train.reduce %a : (tensor<2x3xf32>) -> tensor<3xf32>
  // CHECK: %r6 = train.reduce %a : (tensor<2x3xf32>) -> tensor<3xf32>
  %r7 = train.cast %a : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  // CHECK: %r7 = train.cast %a : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %r8 = train.constant value 1.0 : () -> tensor<f32>
  // CHECK: %r8 = train.constant value 1.0 : () -> tensor<f32>
  %r9 = train.relu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r9 = train.relu %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r10 = train.relu_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r10 = train.relu_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r11 = train.clip %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r11 = train.clip %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r12 = train.clip_grad %a, %b low -1.0 high 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r12 = train.clip_grad %a, %b low -1.0 high 1.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r13 = train.gelu %a tanh : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r13 = train.gelu %a tanh : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r14 = train.gelu_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r14 = train.gelu_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r15 = train.matmul %a t, %b names "X dY" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  // CHECK: %r15 = train.matmul %a t, %b names "X dY" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>
  %r16 = train.matmul %a, %b t : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  // CHECK: %r16 = train.matmul %a, %b t : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  %r17 = train.softmax %a axis 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r17 = train.softmax %a axis 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r18 = train.softmax_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r18 = train.softmax_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r19 = train.dropout %a, %step p 0.1 seed 7 : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: %r19 = train.dropout %a, %step p 0.1 seed 7 : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  %r20 = train.embedding %ids, %a : (tensor<5xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // CHECK: %r20 = train.embedding %ids, %a : (tensor<5xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  %r21 = train.embedding_dw %rows, %ids : (tensor<5x3xf32>, tensor<5xi32>) -> tensor<2x3xf32>
  // CHECK: %r21 = train.embedding_dw %rows, %ids : (tensor<5x3xf32>, tensor<5xi32>) -> tensor<2x3xf32>
  %r22 = train.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK: %r22 = train.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>
  %r23 = train.transpose %a axes [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: %r23 = train.transpose %a axes [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r24 = train.concat %a, %b, %a axis 1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
  // CHECK: %r24 = train.concat %a, %b, %a axis 1 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x9xf32>
  %r25 = train.slice %a starts [0, 1] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  // CHECK: %r25 = train.slice %a starts [0, 1] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %r26 = train.pad %a starts [0, 1] : (tensor<2x3xf32>) -> tensor<2x5xf32>
  // CHECK: %r26 = train.pad %a starts [0, 1] : (tensor<2x3xf32>) -> tensor<2x5xf32>
  %r27 = train.conv2d %x, %w stride [2, 1] padding [1, 0, 1, 1] dilation [1, 2] : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x4x6xf32>
  // CHECK: %r27 = train.conv2d %x, %w stride [2, 1] padding [1, 0, 1, 1] dilation [1, 2] : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x4x6xf32>
  %r28 = train.conv2d_dx %y, %w padding [1, 1, 1, 1] : (tensor<2x6x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: %r28 = train.conv2d_dx %y, %w padding [1, 1, 1, 1] : (tensor<2x6x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  %r29 = train.conv2d_dw %x, %y padding [1, 1, 1, 1] groups 2 : (tensor<2x4x8x8xf32>, tensor<2x6x8x8xf32>) -> tensor<6x2x3x3xf32>
  // CHECK: %r29 = train.conv2d_dw %x, %y padding [1, 1, 1, 1] groups 2 : (tensor<2x4x8x8xf32>, tensor<2x6x8x8xf32>) -> tensor<6x2x3x3xf32>
  %r30 = train.max_pool %x kernel [2, 2] stride [2, 2] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  // CHECK: %r30 = train.max_pool %x kernel [2, 2] stride [2, 2] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %r31 = train.max_pool_grad %p, %x kernel [2, 2] stride [2, 2] : (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: %r31 = train.max_pool_grad %p, %x kernel [2, 2] stride [2, 2] : (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %r32 = train.avg_pool %x kernel [3, 3] padding [1, 1, 1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: %r32 = train.avg_pool %x kernel [3, 3] padding [1, 1, 1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %r33 = train.avg_pool_grad %p kernel [2, 2] stride [2, 2] : (tensor<2x4x4x4xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: %r33 = train.avg_pool_grad %p kernel [2, 2] stride [2, 2] : (tensor<2x4x4x4xf32>) -> tensor<2x4x8x8xf32>
  %r34, %m34, %v34 = train.batch_norm %x, %c, %c eps 0.001 : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: %r34, %m34, %v34 = train.batch_norm %x, %c, %c eps 0.001 : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
  %r35 = train.normalize %x, %c, %c, %c, %c : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: %r35 = train.normalize %x, %c, %c, %c, %c : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %r36 = train.batch_norm_dx %x, %x, %c, %c, %c : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: %r36 = train.batch_norm_dx %x, %x, %c, %c, %c : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %r36s = train.batch_norm_dx_from_sums %x, %x, %c, %c, %c, %c, %c eps 0.5 : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: %r36s = train.batch_norm_dx_from_sums %x, %x, %c, %c, %c, %c, %c eps 0.5 : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %r37, %s37 = train.batch_norm_dw %x, %x, %c, %c : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  // CHECK: %r37, %s37 = train.batch_norm_dw %x, %x, %c, %c : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %r38 = train.ema %c, %c momentum 0.01 scale 1.5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %r38 = train.ema %c, %c momentum 0.01 scale 1.5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r39, %m39, %v39 = train.layer_norm %a, %row, %row : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: %r39, %m39, %v39 = train.layer_norm %a, %row, %row : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  %r40 = train.layer_norm_dx %a, %a, %row, %two, %two : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  // CHECK: %r40 = train.layer_norm_dx %a, %a, %row, %two, %two : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  %r41, %s41 = train.layer_norm_dw %a, %a, %two, %two : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  // CHECK: %r41, %s41 = train.layer_norm_dw %a, %a, %two, %two : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<3xf32>, tensor<3xf32>)
  %r42 = train.cross_entropy %a, %l : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  // CHECK: %r42 = train.cross_entropy %a, %l : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<f32>
  %r43 = train.cross_entropy_grad %a, %l : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  // CHECK: %r43 = train.cross_entropy_grad %a, %l : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  %r44 = train.mse %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: %r44 = train.mse %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %r45 = train.mse_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r45 = train.mse_grad %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r46 = train.dot_loss %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  // CHECK: %r46 = train.dot_loss %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
  %r47 = train.sgd %a, %b lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: %r47 = train.sgd %a, %b lr 0.1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %r48, %v48 = train.sgd %a, %b, %a lr 0.1 momentum 0.9 weight_decay 0.0001 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r48, %v48 = train.sgd %a, %b, %a lr 0.1 momentum 0.9 weight_decay 0.0001 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %r49, %m49, %v49 = train.adam %a, %b, %a, %a, %step lr 0.001 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r49, %m49, %v49 = train.adam %a, %b, %a, %a, %step lr 0.001 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r50, %m50, %v50 = train.adamw %a, %b, %a, %a, %step lr 0.001 beta1 0.5 beta2 0.75 eps 1.0e-06 weight_decay 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  // CHECK: %r50, %m50, %v50 = train.adamw %a, %b, %a, %a, %step lr 0.001 beta1 0.5 beta2 0.75 eps 1.0e-06 weight_decay 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  %r51 = train.increment %step : (tensor<i64>) -> tensor<i64>
  // CHECK: %r51 = train.increment %step : (tensor<i64>) -> tensor<i64>
  func.return
}
