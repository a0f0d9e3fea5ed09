// RUN: npuc opt %s --parsing-diagnostics --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 7 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: micro 7 of 6: expected 1 to 6

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 5 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: axis 0 of operand 0 has size 6, no multiple of 5

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 3 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: operand 0 is tensor<2x8xf32> in the body, expected tensor<3x8xf32>

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[2], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: operand 0 is sliced along axis 2, it has 2

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0] held) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: operand 2 is held, but it is not read whole by every micro-batch

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs(sum, sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: result 0 is tensor<2x4xf32> in the body, expected tensor<6x4xf32>

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0]) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: dW is left resident, but no operation after finds it

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: a sum over micro-batches stays in SPM: npu.contract says no resident(out dW)

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: W is held until the last micro-batch: it stays resident (out)

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) spm 600 bytes resident(in X, out X) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 600 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: npu.contract in it uses a value from outside: make it an operand

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: W is not resident: no operation before leaves it in SPM

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 600 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 600 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    %r = npu.contract (m = 2, n = 4, k = 8) ins(X = %a[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %s = npu.vector relu(%r) ops 8 fused : (tensor<2x4xf32>) -> tensor<2x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: vector work in it is fused with a contraction: in a group it may not be

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 351 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: blocks take 352 bytes (224 of its own, 128 of other resident values), spm promises 351

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) loops [cores m : 1] spm 600 bytes  : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 600 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: a contraction in it has loops over cores: micro-batches run on one core

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>, %g: tensor<6x4xf32>) {
  %y, %dw = npu.group micro 2 of 6 ins(%x[0], %w held, %g[0]) outs([0], sum) {
  ^bb0(%a : tensor<2x8xf32>, %v : tensor<8x4xf32>, %b : tensor<2x4xf32>):
    %h = npu.vector relu(%a) ops 16 resident(out out0) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) spm 400 bytes resident(in X, in W, out X, out W) : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %q = npu.contract (m = 2, n = 4, k = 8) ins(X = %h[m, k], dY = %b[m, n]) outs(dW[k, n]) do(dW += X * dY) spm 400 bytes resident(in X, out dW) : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    %c = npu.constant constant() <{value = 1.0 : f64}> : () -> tensor<8xf32>
    npu.yield %p, %q : tensor<2x4xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: npu.constant may not stand in it: expected contractions, vector work, moves, views
