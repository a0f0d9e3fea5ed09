// RUN: npuc opt %s --parsing-diagnostics --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, q], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown dimension 'q', the nest has m, n, k

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2, q : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown dimension 'q', the nest has m, n, k

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, m = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: dimension m is named twice

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m * 0, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: coefficient of m is 0, expected at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[k - m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: coefficient of m is -1, expected at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  func.return
}

// CHECK: expected 1 result types but had 2

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: expected 2 operand types but had 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: index) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, index) -> tensor<6x4xf32>
  func.return
}

// CHECK: W must be a tensor, got index

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 7) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: axis 1 of X has size 8, dimension k has 7

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8, z = 2) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: statement of Y does not use dimension z: it would run several times

// -----

func.func @f(%x: tensor<f32>, %w: tensor<f32>) {
  %y = npu.contract () ins(X = %x[], W = %w[]) outs(Y[]) do(Y += X * W) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  func.return
}

// CHECK: expected at least one dimension

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xi32>
  func.return
}

// CHECK: Y is a sum of f32 in i32, expected a type of floats

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xcomplex<f32>>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xcomplex<f32>>) -> tensor<6x4xf32>
  func.return
}

// CHECK: Y is a sum of elements of type complex<f32>, expected numbers

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 0, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: dimension n has size 0, expected at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: X has 1 indices, its type has rank 2

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, m + k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: X uses dimension m more than once

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * V) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: statement of Y uses V, which is not among the ins

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Z += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: statement of Z uses Z, which is not among the outs

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], X = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: two tensors of the nest have the same name

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W, Y += W * X) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: Y must be the result of exactly one statement

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %b: tensor<8xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n] from %b[k]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: the start of Y must index like some axes of Y, got Y0[k]

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2, m : 3] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: steps of m must shrink inwards, got 2 then 3

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 7] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: step of m is 7, its size is 6

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 0] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: step of m is 0, expected at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) keep(V = 0) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: keep names 'V', the nest has X, W, Y

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2] keep(W = 2) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: keep of W is 2, expected 0 to 1, the number of loops

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2] keep(W = 1, W = 0) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: keep names a tensor twice

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) spm 0 bytes : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: spm is 0 bytes, expected at least 1

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2] spm 220 bytes : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: blocks take 224 bytes (X 64, W 128, Y 32), spm promises 220

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = "npu.contract"(%x) <{nest = #npu.nest<(m = 6, n = 4, k = 8) ins(X = 6x8[m, k], W = 8x4[k, n]) outs(Y = 6x4[m, n]) do(Y += X * W)>}> : (tensor<6x8xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: the nest has 2 inputs and starts, got 1 operands

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y, %z = "npu.contract"(%x, %w) <{nest = #npu.nest<(m = 6, n = 4, k = 8) ins(X = 6x8[m, k], W = 8x4[k, n]) outs(Y = 6x4[m, n]) do(Y += X * W)>}> : (tensor<6x8xf32>, tensor<8x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  func.return
}

// CHECK: the nest has 1 outputs, got 2 results

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = "npu.contract"(%w, %w) <{nest = #npu.nest<(m = 6, n = 4, k = 8) ins(X = 6x8[m, k], W = 8x4[k, n]) outs(Y = 6x4[m, n]) do(Y += X * W)>}> : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: X has shape 6x8 in the nest, its type is tensor<8x4xf32>

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = "npu.contract"(%x, %w) <{nest = #npu.nest<(m = 6, n = 4, k = 8) ins(X = 6x8[m, k], W = 8x4[k, n]) outs(Y = 6x4[m, n]) do(Y += X * W)>}> : (tensor<6x8xf32>, tensor<8x4xf32>) -> index
  func.return
}

// CHECK: Y must be a tensor, got index

// -----

func.func @f(%i: index) {
  %y = npu.vector relu(%i) ops 1 : (index) -> tensor<6x8xf32>
  func.return
}

// CHECK: operands and results must be tensors, got index

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector train.relu(%x) ops 1 : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: kind is 'train.relu', expected the name of a train operation without 'train.'

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops 1 reads [1, 2] : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: reads has 2 counts for 1 values

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.move slice(%x) writes [-1] : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: writes is [-1], counts must not be negative

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops -1 : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: ops is -1, expected at least 0

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops 1 fused : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: a fused operation needs an operand of its result's shape from the npu.contract right before it

// -----

func.func @f(%x: tensor<2x8xf32>) {
  %c = npu.im2col %x rows (y = 4) cols (y = 3) [y, y] : (tensor<2x8xf32>) -> tensor<4x3xf32>
  func.return
}

// CHECK: a dimension is named twice: y, y

// -----

func.func @f(%x: tensor<2x8xf32>) {
  %c = npu.im2col %x rows (y = 4) cols (r = 2, s = 2) [y, r] : (tensor<2x8xf32>) -> tensor<4x4xf32>
  func.return
}

// CHECK: the map uses y, r, expected each of y, r, s once

// -----

func.func @f(%x: tensor<2x8xf32>) {
  %c = npu.im2col %x rows (y = 4) cols (r = 2) [y, q] : (tensor<2x8xf32>) -> tensor<4x2xf32>
  func.return
}

// CHECK: unknown dimension 'q', the nest has y, r

// -----

func.func @f(%x: tensor<2x8xf32>) {
  %c = npu.im2col %x rows (y = 7) cols (i = 2) [i, y] : (tensor<2x8xf32>) -> tensor<4x2xf32>
  func.return
}

// CHECK: expected a matrix of 7x2, got tensor<4x2xf32>

// -----

func.func @f(%x: tensor<2x8xf32>) {
  %c = npu.im2col %x rows (y = 7) cols (i = 2) [i + y] : (tensor<2x8xf32>) -> tensor<7x2xf32>
  func.return
}

// CHECK: the map has 1 indices, the tensor is tensor<2x8xf32>

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %b = npu.load %x[m, k] over (m = 0 : 2, m = 0 : 2, k = 0 : 8) : tensor<6x8xf32> -> !npu.block<2x8xf32>
  func.return
}

// CHECK: dimension m is in the box twice

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %b = npu.load %x[m, k] over (m = 0 : 0, k = 0 : 8) : tensor<6x8xf32> -> !npu.block<0x8xf32>
  func.return
}

// CHECK: extent of m is 0, expected at least 1

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %b = "npu.zero"() <{map = #npu.map<[m]>, box = #npu.box<(m = ? : 2)>}> : () -> !npu.block<2xf32>
  func.return
}

// CHECK: the box takes 1 indices, got 0

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %b = npu.load %x[m, q] over (m = 0 : 2, k = 0 : 8) : tensor<6x8xf32> -> !npu.block<2x8xf32>
  func.return
}

// CHECK: unknown dimension 'q', the box has m, k

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %b = npu.load %x[m] over (m = 0 : 2) : tensor<6x8xf32> -> !npu.block<2xf32>
  func.return
}

// CHECK: the map has 1 indices, its value is tensor<6x8xf32>

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %b = npu.load %x[m, k] over (m = 0 : 2, k = 0 : 8) : tensor<6x8xf32> -> !npu.block<2x7xf32>
  func.return
}

// CHECK: expected !npu.block<2x8xf32>, got !npu.block<2x7xf32>

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %b = npu.zero [m] over (m = 0 : 2) : !npu.block<3xf32>
  func.return
}

// CHECK: the box reaches 2 elements, the block is !npu.block<3xf32>

// -----

func.func @f(%a: !npu.block<2x4xf32>, %x: tensor<6x4xf32>) {
  %b = npu.start %a[m, n] from %a[m, k] over (m = 0 : 2, n = 0 : 4, k = 0 : 4) : !npu.block<2x4xf32>, !npu.block<2x4xf32>
  func.return
}

// CHECK: index k of the start is no index of the accumulator

// -----

func.func @f(%a: !npu.block<2x4xf32>, %x: tensor<6x4xf32>) {
  %b = "npu.start"(%a, %a) <{acc_map = #npu.map<[m, n]>, source_map = #npu.map<[m, n]>, box = #npu.box<(m = 0 : 2, n = 0 : 4)>}> : (!npu.block<2x4xf32>, !npu.block<2x4xf32>) -> !npu.block<2x8xf32>
  func.return
}

// CHECK: expected !npu.block<2x4xf32>, got !npu.block<2x8xf32>

// -----

func.func @f(%a: !npu.block<2x4xf32>, %x: tensor<6x4xf32>) {
  %b = "npu.mac"(%a, %a, %a) <{acc_map = #npu.map<[m, n]>, lhs_map = #npu.map<[m, n]>, rhs_map = #npu.map<[m, n]>, box = #npu.box<(m = 0 : 2, n = 0 : 4)>}> : (!npu.block<2x4xf32>, !npu.block<2x4xf32>, !npu.block<2x4xf32>) -> !npu.block<2x8xf32>
  func.return
}

// CHECK: expected !npu.block<2x4xf32>, got !npu.block<2x8xf32>

// -----

func.func @f(%a: !npu.block<2x4xf32>, %x: tensor<6x4xf32>) {
  %b = "npu.store"(%a, %x) <{map = #npu.map<[m, n]>, box = #npu.box<(m = 0 : 2, n = 0 : 4)>}> : (!npu.block<2x4xf32>, tensor<6x4xf32>) -> tensor<4x6xf32>
  func.return
}

// CHECK: expected tensor<6x4xf32>, got tensor<4x6xf32>

// -----

func.func @f(%a: !npu.block<2x4xf32>, %x: tensor<6x4xf32>) {
  %b = npu.store %a into %x[m, n] over (m = 0 : 3, n = 0 : 4) : !npu.block<2x4xf32>, tensor<6x4xf32>
  func.return
}

// CHECK: expected !npu.block<3x4xf32>, got !npu.block<2x4xf32>

// -----

func.func @f(%x: tensor<6x4xf32>, %s: tensor<4xf32>) {
  %b = "npu.finish"(%x) : (tensor<6x4xf32>) -> tensor<4xf32>
  func.return
}

// CHECK: expected a tensor of the shape of tensor<6x4xf32>, got tensor<4xf32>

// -----

func.func @f(%x: tensor<6x4xf32>, %s: tensor<4xf32>) {
  %b = "npu.finish"(%x, %s) : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: a start and its axes go together

// -----

func.func @f(%x: tensor<6x4xf32>, %s: tensor<4xf32>) {
  %b = npu.finish %x from %s axes [2] : tensor<6x4xf32>, tensor<4xf32>
  func.return
}

// CHECK: axes are [2], expected different ones below 2

// -----

func.func @f(%x: tensor<6x4xf32>, %s: tensor<4xf32>) {
  %b = npu.finish %x from %s axes [0] : tensor<6x4xf32>, tensor<4xf32>
  func.return
}

// CHECK: expected a start of 6, got tensor<4xf32>

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [k : 4, cores m : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: loops over cores must come before all others

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [cores m : 4, cores m : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: m is cut over cores twice

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [cores m : 2, k : 4] keep(W = 2) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: keep of W is 2, expected 0 to 1, the number of loops inside those over cores

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [cores q : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: unknown dimension 'q', the nest has m, n, k

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [k : 2, m : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector relu(%y) ops 24 fused : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %z : tensor<6x4xf32>
}

// CHECK: the npu.contract does not finish Y block by block: the loop over k comes back to blocks of Y that have left

// -----

func.func @f(%dy: tensor<6x2xf32>, %w: tensor<3x2xf32>) -> tensor<8xf32> {
  %dx = npu.contract (y = 6, r = 3, o = 2) ins(dY = %dy[y, o], W = %w[r, o]) outs(dX[y + r]) do(dX += dY * W) loops [y : 2] : (tensor<6x2xf32>, tensor<3x2xf32>) -> tensor<8xf32>
  %z = npu.vector relu(%dx) ops 8 fused : (tensor<8xf32>) -> tensor<8xf32>
  func.return %z : tensor<8xf32>
}

// CHECK: the npu.contract does not finish dX block by block: blocks of dX overlap or leave elements out

// -----

func.func @f(%dy: tensor<4x2xf32>, %w: tensor<1x2xf32>) -> tensor<8xf32> {
  %dx = npu.contract (y = 4, r = 1, o = 2) ins(dY = %dy[y, o], W = %w[r, o]) outs(dX[y * 2 + r]) do(dX += dY * W) loops [o : 1] : (tensor<4x2xf32>, tensor<1x2xf32>) -> tensor<8xf32>
  %z = npu.vector relu(%dx) ops 8 fused : (tensor<8xf32>) -> tensor<8xf32>
  func.return %z : tensor<8xf32>
}

// CHECK: the npu.contract does not finish dX block by block: no statement touches some elements of dX

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %r: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2] spm 224 bytes : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector relu(%y) ops 24 fused : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %s = npu.vector add(%z, %r) ops 24 fused : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %s : tensor<6x4xf32>
}

// CHECK: blocks take 256 bytes (224 of the npu.contract, 32 of what is fused with it), spm promises 224

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %r: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %a = npu.vector relu(%r) ops 24 : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector relu(%y) ops 24 fused : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %a, %z : tensor<6x4xf32>, tensor<6x4xf32>
}

// CHECK: a fused operation needs an operand of its result's shape from the npu.contract right before it

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector relu(%y) ops 24 reads [12] fused : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %z : tensor<6x4xf32>
}

// CHECK: a fused operation moves its tensors block by block: it says no reads and writes

// -----

func.func @f(%a: !npu.block<2x4xf32>) {
  %b = npu.apply relu(%a) into (%a) on 6x4[m, n] over (m = 0 : 3, n = 0 : 4) : (!npu.block<2x4xf32>) -> !npu.block<2x4xf32>
  func.return
}

// CHECK: the box reaches 3x4 elements, the block is !npu.block<2x4xf32>

// -----

func.func @f(%a: !npu.block<2x4xf32>, %b: !npu.block<3xf32>) {
  %c = npu.apply add(%a, %b) into (%a) on 6x4[m, n] over (m = 0 : 2, n = 0 : 4) : (!npu.block<2x4xf32>, !npu.block<3xf32>) -> !npu.block<2x4xf32>
  func.return
}

// CHECK: !npu.block<3xf32> is neither a block of the box nor a tensor that is repeated in it

// -----

func.func @f(%a: !npu.block<2x4xf32>) {
  %b = npu.apply relu(%a) into (%a) on 6x4x2[m, n] over (m = 0 : 2, n = 0 : 4) : (!npu.block<2x4xf32>) -> !npu.block<2x4xf32>
  func.return
}

// CHECK: the map has 2 indices, the tensor 3

// -----

func.func @f(%a: !npu.block<2x4xf32>) {
  %b = "npu.apply"(%a) <{kind = "relu", params = {}, shape = array<i64: 6, 4>, map = #npu.map<[m, n]>, box = #npu.box<(m = 0 : 2, n = 0 : 4)>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (!npu.block<2x4xf32>) -> !npu.block<2x4xf32>
  func.return
}

// CHECK: its results must have the types of the blocks whose place they take, one for one

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector softmax(%x) ops 1 again [1] groups 6 : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: found 'again [1] groups 6', expected numbers of operands, each once and below 1, and one or more that are read again

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector softmax(%x) ops 1 again [0] groups 6 beside [0] : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: found 'again [0] groups 6 beside [0]', expected numbers of operands, each once

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector softmax(%x) ops 1 again [0] groups 5 : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: groups is 5, expected a divisor of the 48 elements of in0

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector softmax(%x) ops 1 reads [12] again [0] groups 6 : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: in0 is read again, but only 12 of its 48 elements are read

// -----

func.func @narrow_accumulator(%x : !npu.block<2x8xbf16>, %w : !npu.block<8x4xbf16>, %a : !npu.block<2x4xbf16>) -> !npu.block<2x4xbf16> {
  %b = npu.mac %a[m, n] += %x[m, k] * %w[k, n] over (m = 0 : 2, n = 0 : 4, k = 0 : 8) : !npu.block<2x4xbf16>, !npu.block<2x8xbf16>, !npu.block<8x4xbf16>
  func.return %b : !npu.block<2x4xbf16>
}

// CHECK: accumulators have 32 bits here (accumulator_bits), got one of bf16

// -----

builtin.module attributes {npu.target = {accumulator_bits = 16 : i64}} {
  func.func @wide_accumulator(%x : !npu.block<2x8xbf16>, %w : !npu.block<8x4xbf16>, %a : !npu.block<2x4xf32>) -> !npu.block<2x4xf32> {
    %b = npu.mac %a[m, n] += %x[m, k] * %w[k, n] over (m = 0 : 2, n = 0 : 4, k = 0 : 8) : !npu.block<2x4xf32>, !npu.block<2x8xbf16>, !npu.block<8x4xbf16>
    func.return %b : !npu.block<2x4xf32>
  }
}

// CHECK: accumulators have 16 bits here (accumulator_bits), got one of f32

// -----

func.func @no_sum(%a : !npu.block<2x4xi32>) -> !npu.block<2x4xbf16> {
  %b = npu.convert %a : !npu.block<2x4xi32> -> !npu.block<2x4xbf16>
  func.return %b : !npu.block<2x4xbf16>
}

// CHECK: partial sums of bf16 in 32-bit accumulators are no i32

// -----

func.func @other_shape(%a : !npu.block<2x4xf32>) -> !npu.block<4x2xbf16> {
  %b = npu.convert %a : !npu.block<2x4xf32> -> !npu.block<4x2xbf16>
  func.return %b : !npu.block<4x2xbf16>
}

// CHECK: expected a block of the shape of !npu.block<2x4xf32>, got !npu.block<4x2xbf16>

// -----

func.func @finished_otherwise(%x : tensor<6x4xf32>) -> tensor<6x4xi8> {
  %b = npu.finish %x : tensor<6x4xf32> -> tensor<6x4xi8>
  func.return %b : tensor<6x4xi8>
}

// CHECK: partial sums of i8 in 32-bit accumulators are no f32

// -----

func.func @bare_promise(%x : tensor<6x8xf32>, %w : tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) spm 160 : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// CHECK: found 'spm 160', expected 'spm 160 bytes'

// -----

func.func @sums_are_wider(%x : tensor<6x8xbf16>, %w : tensor<8x4xbf16>) -> tensor<6x4xbf16> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2] spm 127 bytes : (tensor<6x8xbf16>, tensor<8x4xbf16>) -> tensor<6x4xbf16>
  func.return %y : tensor<6x4xbf16>
}

// CHECK: blocks take 128 bytes (X 32, W 64, Y 32), spm promises 127
// -----

func.func @f(%x: !npu.block<6x4xf32>, %s: tensor<4xf32>) {
  %b = npu.fill %x from %s axes [0] : !npu.block<6x4xf32>, tensor<4xf32>
  func.return
}

// CHECK: expected a start of 6, got tensor<4xf32>

// -----

func.func @f(%x: !npu.block<6x4xf32>, %s: tensor<4xf32>) {
  %b = "npu.fill"(%x, %s) <{axes = array<i64: 1>}> : (!npu.block<6x4xf32>, tensor<4xf32>) -> !npu.block<4x4xf32>
  func.return
}

// CHECK: expected !npu.block<6x4xf32>, got !npu.block<4x4xf32>

// -----

func.func @f(%x: !npu.block<6x4xf32>, %s: tensor<4xi8>) {
  %b = npu.fill %x from %s axes [1] : !npu.block<6x4xf32>, tensor<4xi8>
  func.return
}

// CHECK: partial sums of i8 in 32-bit accumulators are no f32

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 2, n : 2] keep(X = 1) keep L2(X = 0) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: keep L2 of X is 0, in SPM it is 1: depths must not shrink outwards

// -----

func.func @f(%x: !npu.block<6x8xf32>) {
  %b = "npu.fetch"(%x) <{map = #npu.map<[m, k]>, box = #npu.box<(m = 0 : 2, k = 0 : 8)>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (!npu.block<6x8xf32>) -> !npu.block<2x4xf32>
  func.return
}

// CHECK: expected !npu.block<2x8xf32>, got !npu.block<2x4xf32>

// -----

func.func @f(%x: !npu.block<6x8xf32>, %y: !npu.block<2x8xf32>) {
  %b = "npu.put"(%y, %x) <{map = #npu.map<[m, k]>, box = #npu.box<(m = 0 : 2, k = 0 : 8)>}> : (!npu.block<2x8xf32>, !npu.block<6x8xf32>) -> !npu.block<2x8xf32>
  func.return
}

// CHECK: expected !npu.block<6x8xf32>, got !npu.block<2x8xf32>
