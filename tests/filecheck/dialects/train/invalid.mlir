// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>, %b: tensor<4x3xf32>) {
  %r = train.add %a, %b : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  // CHECK: shapes 2x3 and 4x3 do not broadcast
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2x3xf64>) {
  %r = train.add %a, %b : (tensor<2x3xf32>, tensor<2x3xf64>) -> tensor<2x3xf32>
  // CHECK: element types differ: f32 and f64
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = train.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK: expected result tensor<2x3xf32>, got tensor<3xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = train.add %a, %b {role = "sideways"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: role is "sideways", expected one of comm, dw, dx, dxdw, forward, update
  func.return
}

// -----

func.func @f(%a: tensor<?x3xf32>) {
  %r = train.relu %a : (tensor<?x3xf32>) -> tensor<?x3xf32>
  // CHECK: expected a static shape, got tensor<?x3xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.reduce %a : (tensor<2x3xf32>) -> tensor<2xf32>
  // CHECK: cannot sum 2x3 to 2
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  %r = train.relu_grad %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: operands differ: 2x3 f32 and 3x2 f32
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.clip %a low 3.0 high 1.0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: low is 3.0, above high 1.0
  func.return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<9x2xf32>) {
  %r = train.matmul %a, %b : (tensor<4x8xf32>, tensor<9x2xf32>) -> tensor<4x2xf32>
  // CHECK: inner sizes differ: lhs is 4x8 with 8, rhs is 9x2 with 9
  func.return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  %r = train.matmul %a, %b t : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x8xf32>
  // CHECK: inner sizes differ: lhs is 4x8 with 8, rhs is 8x2 transposed with 2
  func.return
}

// -----

func.func @f(%a: tensor<8xf32>, %b: tensor<8x2xf32>) {
  %r = train.matmul %a, %b : (tensor<8xf32>, tensor<8x2xf32>) -> tensor<2xf32>
  // CHECK: operands must have rank 2 or more, got 8 and 8x2
  func.return
}

// -----

func.func @f(%a: tensor<2x4x8xf32>, %b: tensor<3x8x2xf32>) {
  %r = train.matmul %a, %b : (tensor<2x4x8xf32>, tensor<3x8x2xf32>) -> tensor<2x4x2xf32>
  // CHECK: batch axes of 2x4x8 and 3x8x2 do not broadcast
  func.return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  %r = train.matmul %a, %b : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<2x4xf32>
  // CHECK: the product is 4x2, which does not sum to 2x4
  func.return
}

// -----

func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  %r = train.matmul %a, %b names "W X" : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  // CHECK: names is 'W X', expected one of 'X W', 'dY W', 'W dY', 'X dY', 'dY X'
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = train.conv2d %a, %b : (tensor<2x3x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: input and weight must have rank 4, got 2x3x8 and 4x3x3x3
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<4x2x3x3xf32>) {
  %r = train.conv2d %a, %b : (tensor<2x3x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: the input has 3 channels, the weight 4x2x3x3 in 1 groups reads 2
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<4x2x3x3xf32>) {
  %r = train.conv2d %a, %b groups 2 : (tensor<2x3x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: groups is 2, expected a divisor of 3 input and 4 output channels
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = train.conv2d %a, %b stride [0, 1] : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: stride is [0, 1], expected two integers of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = train.conv2d %a, %b padding [1, 1] : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: padding is [1, 1], expected [top, bottom, left, right] of at least 0
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = train.conv2d %a, %b dilation [1, 0] : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  // CHECK: dilation is [1, 0], expected two integers of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3x2x2xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = train.conv2d %a, %b : (tensor<2x3x2x2xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x1x1xf32>
  // CHECK: a 3x3 window does not fit into 2x2 with padding [0, 0, 0, 0] and dilation [1, 1]
  func.return
}

// -----

func.func @f(%a: tensor<2x4x5x5xf32>, %b: tensor<4x3x3x3xf32>) {
  %r = train.conv2d_dx %a, %b : (tensor<2x4x5x5xf32>, tensor<4x3x3x3xf32>) -> tensor<2x3x8x8xf32>
  // CHECK: dy is 2x4x5x5, the convolution's output is 2x4x6x6
  func.return
}

// -----

func.func @f(%a: tensor<2x3x8x8xf32>, %b: tensor<2x4x5x5xf32>) {
  %r = train.conv2d_dw %a, %b : (tensor<2x3x8x8xf32>, tensor<2x4x5x5xf32>) -> tensor<4x3x3x3xf32>
  // CHECK: dy is 2x4x5x5, the convolution's output is 2x4x6x6
  func.return
}

// -----

func.func @f(%a: tensor<8x8xf32>) {
  %r = train.max_pool %a kernel [2, 2] : (tensor<8x8xf32>) -> tensor<7x7xf32>
  // CHECK: the input must be [batch, channels, height, width], got 8x8
  func.return
}

// -----

func.func @f(%a: tensor<1x1x8x8xf32>) {
  %r = train.max_pool %a kernel [2] : (tensor<1x1x8x8xf32>) -> tensor<1x1x7x7xf32>
  // CHECK: kernel is [2], expected two integers of at least 1
  func.return
}

// -----

func.func @f(%a: tensor<1x1x8x8xf32>) {
  %r = train.max_pool %a kernel [2, 2] padding [2, 2, 2, 2] : (tensor<1x1x8x8xf32>) -> tensor<1x1x7x7xf32>
  // CHECK: padding [2, 2, 2, 2] is more than half of the window [2, 2]
  func.return
}

// -----

func.func @f(%a: tensor<1x1x8x8xf32>) {
  %r = train.avg_pool %a kernel [9, 9] : (tensor<1x1x8x8xf32>) -> tensor<1x1x1x1xf32>
  // CHECK: a 9x9 window does not fit into 8x8 with padding [0, 0, 0, 0]
  func.return
}

// -----

func.func @f(%a: tensor<1x1x3x3xf32>) {
  %r = train.avg_pool_grad %a kernel [2, 2] stride [2, 2] : (tensor<1x1x3x3xf32>) -> tensor<1x1x8x8xf32>
  // CHECK: dy is 1x1x3x3, the pooling's output is 1x1x4x4
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.softmax %a axis 2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: axis is 2, expected -2 to 1 for 2x3
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) {
  %r = train.softmax_grad %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: dy is tensor<2x3xf32>, y is tensor<3x2xf32>
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<i64>) {
  %r = train.dropout %a, %b p 1.0 seed 1 : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: p is 1.0, expected at least 0 and below 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xi64>) {
  %r = train.dropout %a, %b p 0.5 seed 1 : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  // CHECK: step is 2, expected a scalar
  func.return
}

// -----

func.func @f(%a: tensor<2xi64>, %b: tensor<i64>) {
  %r = train.random_bits %a, %b : (tensor<2xi64>, tensor<i64>) -> tensor<2x3xi64>
  // CHECK: first is 2, expected a scalar
  func.return
}

// -----

func.func @f(%a: tensor<i64>, %b: tensor<i32>) {
  %r = train.random_bits %a, %b : (tensor<i64>, tensor<i32>) -> tensor<2x3xi64>
  // CHECK: the second word has elements of i32, expected i64
  func.return
}

// -----

func.func @f(%a: tensor<i64>, %b: tensor<i64>) {
  %r = train.random_bits %a, %b : (tensor<i64>, tensor<i64>) -> tensor<2x3xf32>
  // CHECK: the result has elements of f32, expected i64
  func.return
}

// -----

func.func @f(%a: tensor<5xf32>, %b: tensor<2x3xf32>) {
  %r = train.embedding %a, %b : (tensor<5xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // CHECK: the indices have element type f32, expected i32 or i64
  func.return
}

// -----

func.func @f(%a: tensor<5xi32>, %b: tensor<2x3x1xf32>) {
  %r = train.embedding %a, %b : (tensor<5xi32>, tensor<2x3x1xf32>) -> tensor<5x3xf32>
  // CHECK: the table must be [entries, width], got 2x3x1
  func.return
}

// -----

func.func @f(%a: tensor<4x3xf32>, %b: tensor<5xi32>) {
  %r = train.embedding_dw %a, %b : (tensor<4x3xf32>, tensor<5xi32>) -> tensor<2x3xf32>
  // CHECK: dy is 4x3, the lookup's output is 5x3
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.reshape %a : (tensor<2x3xf32>) -> tensor<5xf32>
  // CHECK: 2x3 has 6 elements, 5 has 5
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.transpose %a axes [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  // CHECK: axes is [0, 0], expected a permutation of 0 to 1
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x3xf32>) {
  %r = train.concat %a, %b axis 1 : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  // CHECK: 3x3 and 2x3 differ outside axis 1, along which they join
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.slice %a starts [0, 2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  // CHECK: axis 1: 2 to 4 lies outside 0 to 3
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.slice %a starts [0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  // CHECK: 2x2 at [0] and 2x3 differ in rank
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.pad %a starts [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: axis 1: 1 to 4 lies outside 0 to 3
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  %r = train.cross_entropy %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<f32>
  // CHECK: the labels have element type f32, expected i32 or i64
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xi32>) {
  %r = train.cross_entropy %a, %b : (tensor<2x3xf32>, tensor<3xi32>) -> tensor<f32>
  // CHECK: logits are 2x3, labels 3: expected labels of the logits' shape without the last axis, the classes
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = train.mse %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<f32>
  // CHECK: prediction is tensor<2x3xf32>, target is tensor<3xf32>: expected equal types
  func.return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %r = train.ema %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  // CHECK: running is 2, new 3
  func.return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %r = train.sgd %a, %b lr 0.1 : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  // CHECK: the parameter is 2, its gradient or state 3
  func.return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {
  %r = train.sgd %a, %b lr 0.1 momentum 0.9 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: momentum is 0.9, with 0 velocities
  func.return
}

// -----

func.func @f(%a: tensor<i64>) {
  %r = train.increment %a : (tensor<i64>) -> tensor<i32>
  // CHECK: expected result tensor<i64>, got tensor<i32>
  func.return
}

// -----

func.func @f(%a: tensor<2x4xf32>, %b: tensor<3xf32>) {
  %y, %m, %v = train.batch_norm %a, %b, %b : (tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x4xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: scale is tensor<3xf32>, expected tensor<4xf32>
  func.return
}

// -----

func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  %y, %m, %v = train.batch_norm %a, %b, %b : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: the input must be [batch, channels, 
  func.return
}

// -----

func.func @f(%a: tensor<f32>, %b: tensor<3xf32>) {
  %y, %m, %v = train.layer_norm %a, %b, %b : (tensor<f32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  // CHECK: the input must have rank 1 or more, got a scalar
  func.return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<1xi64>) {
  %y, %m, %v = train.adam %a, %a, %a, %a, %b lr 0.1 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1xi64>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: step is 1, expected a scalar
  func.return
}

// -----

func.func @f(%a: tensor<2xf32>, %b: tensor<i64>) {
  %y, %m, %v = train.adam %a, %a, %a, %a, %b lr 0.1 beta2 1.0 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i64>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: beta2 is 1.0, expected at least 0 and below 1
  func.return
}

// -----

func.func @f(%a: tensor<5xi32>, %b: tensor<2x3xf32>) {
  %r = train.embedding %a, %b padding_idx 2 : (tensor<5xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // CHECK: padding_idx is 2, expected 0 to 1, or -1 for none
  func.return
}
