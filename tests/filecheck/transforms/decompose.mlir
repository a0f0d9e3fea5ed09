// RUN: npuc opt %s -p decompose | filecheck %s

// A product is one contraction; its operands are read as they are stored.

func.func @product(%x: tensor<4x8xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
  %y = train.matmul %x, %w t {layer = "fc"} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  func.return %y : tensor<4x6xf32>
}

// CHECK-LABEL: func.func @product
// CHECK-NEXT:    %{{.*}} = npu.contract (m = 4, n = 6, k = 8) ins(X = %x[m, k], W = %w[n, k]) outs(Y[m, n]) do(Y += X * W) {layer = "fc"}

// The padding of a convolution is an operation of its own, and channels of groups are an axis of their own.

func.func @convolution(%x: tensor<1x4x5x5xf32>, %w: tensor<6x2x3x3xf32>) -> tensor<1x6x3x3xf32> {
  %y = train.conv2d %x, %w stride [2, 2] padding [1, 1, 1, 1] groups 2 {layer = "conv"} : (tensor<1x4x5x5xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x3x3xf32>
  func.return %y : tensor<1x6x3x3xf32>
}

// CHECK-LABEL: func.func @convolution
// CHECK-NEXT:    %[[P:.*]] = train.pad %x starts [0, 0, 1, 1] {{.*}} -> tensor<1x4x7x7xf32>
// CHECK-NEXT:    %[[G:.*]] = train.reshape %[[P]] {{.*}} -> tensor<1x2x2x7x7xf32>
// CHECK-NEXT:    %[[V:.*]] = train.reshape %w {{.*}} -> tensor<2x3x2x3x3xf32>
// CHECK-NEXT:    %{{.*}} = npu.contract (b = 1, g = 2, o = 3, i = 2, y = 3, x = 3, r = 3, s = 3) ins(X = %[[G]][b, g, i, y * 2 + r, x * 2 + s], W = %[[V]][g, o, i, r, s]) outs(Y[b, g, o, y, x])

// The gradient of its input adds at positions that overlap: the flipped weight over the dilated gradient does not.

func.func @gradient(%dy: tensor<1x4x4xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x2x7xf32> {
  %dx = train.conv1d_dx %dy, %w stride [2] padding [1, 1] {layer = "conv", role = "dx"} : (tensor<1x4x4xf32>, tensor<4x2x3xf32>) -> tensor<1x2x7xf32>
  func.return %dx : tensor<1x2x7xf32>
}

// CHECK-LABEL: func.func @gradient
// CHECK-NEXT:    %[[F:.*]] = train.flip %w axes [2]
// CHECK-NEXT:    %[[D:.*]] = train.pad %dy starts [0, 0, 1] steps [1, 1, 2] {{.*}} -> tensor<1x4x9xf32>
// CHECK-NEXT:    %{{.*}} = npu.contract (b = 1, o = 4, i = 2, x = 7, s = 3) ins(dY = %[[D]][b, o, x + s], W = %[[F]][o, i, s]) outs(dX[b, i, x])

// Everything else is what its numpy program does.

func.func @activation(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = train.relu %x {layer = "act"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @activation
// CHECK-NEXT:    %[[Z:.*]] = train.constant value 0.0 {layer = "act"}
// CHECK-NEXT:    %{{.*}} = train.max %x, %[[Z]] {layer = "act"}

// Equal work of several operations is done once.

func.func @twice(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %y = train.sigmoid %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %z = train.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @twice
// CHECK-COUNT-1: train.exp
// CHECK-NOT:     train.exp

// A draw is a primitive; its bits are compared as integers with p 2^53, rounded up.

func.func @drawn(%x: tensor<4x8xf32>, %step: tensor<i64>) -> tensor<4x8xf32> {
  %y = train.dropout %x, %step p 0.25 seed 7 {layer = "drop"} : (tensor<4x8xf32>, tensor<i64>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @drawn
// CHECK:         %[[R:.*]] = train.random_bits %{{.*}}, %step {layer = "drop"} : (tensor<i64>, tensor<i64>) -> tensor<4x8xi64>
// CHECK:         train.constant value 2251799813685248.0 {{.*}} tensor<i64>
// CHECK:         %[[K:.*]] = train.greater_equal %[[R]], %{{.*}}
// CHECK:         train.where %[[K]]
