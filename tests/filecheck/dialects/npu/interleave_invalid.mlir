// RUN: npuc opt %s --parsing-diagnostics --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave spm 156 bytes {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] keep(dY = 3) : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] keep(dY = 3) : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: blocks take 160 bytes (dY 96, W 16, dX 16; X 16, dY 0, dW 16), spm promises 156

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave spm 92 bytes {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: blocks take 96 bytes (dY 16, W 16, dX 16; X 16, dY 16, dW 16), spm promises 92

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave spm 0 bytes {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: spm is 0 bytes, expected at least 1

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] spm 200 bytes : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: spm stands on a contraction in it, but they share one SPM: write it on npu.interleave

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %a[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: a contraction in it reads what another one computes: they cannot run round-robin

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %c = npu.vector relu(%X) ops 48 : (tensor<6x8xf32>) -> tensor<6x8xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: only npu.contract may stand in it, got npu.vector

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    npu.yield %a : tensor<6x8xf32>
  } : (tensor<6x8xf32>)
  func.return
}

// CHECK: expected two contractions or more, got 1

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %b, %a : tensor<8x4xf32>, tensor<6x8xf32>
  } : (tensor<8x4xf32>, tensor<6x8xf32>)
  func.return
}

// CHECK: npu.yield must name the results of all its contractions, in their order

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x8xf32>)
  func.return
}

// CHECK: its result types must be those of npu.yield

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave spm 4000 bytes {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: steps of m must shrink inwards, got 2 then 2

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  npu.streams {
    npu.yield
  } : ()
  func.return
}

// CHECK: expected two streams or more, got 1

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX = npu.streams {
    npu.yield
  } and {
    npu.yield %X : tensor<6x8xf32>
  } : (tensor<8x4xf32>)
  func.return
}

// CHECK: its result types must be those of the streams' npu.yield, one after another

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [cores m : 2, k : 2, n : 2] : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: a contraction in it has loops over cores: in turn they run on one core

// -----

func.func @f(%dY: tensor<6x4xf32>, %W: tensor<8x4xf32>, %X: tensor<6x8xf32>) {
  %dX, %dW = npu.interleave {
    %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dY[m, n], W = %W[k, n]) outs(dX[m, k]) do(dX += dY * W) loops [m : 2, k : 2, n : 2] keep L2(W = 1) : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
    %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %X[m, k], dY = %dY[m, n]) outs(dW[k, n]) do(dW += X * dY) loops [n : 2, k : 2, m : 2] : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>)
  func.return
}

// CHECK: a contraction in it keeps blocks in L2: in turn they keep them in SPM alone
