// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops 48 resident(in X) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: resident names 'X' after in, expected one of in0

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector add(%x, %x) ops 48 resident(in in0, in in0) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: resident names 'in0' twice after in

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops 48 resident(in in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: in0 is not resident: no operation before leaves it in SPM

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops 48 resident(out in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: in0 is left resident, but no operation after finds it

// -----

// A transpose is another value.
func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops 48 resident(out out0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %t = npu.move transpose(%y) <{permutation = array<i64: 1, 0>}> : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %z = npu.vector relu(%t) ops 48 resident(in in0) : (tensor<8x6xf32>) -> tensor<8x6xf32>
  func.return
}

// CHECK: in0 is not resident: no operation before leaves it in SPM

// -----

// One operation lets it go, the next one cannot find it.
func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops 48 resident(out in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %z = npu.vector gelu(%x) ops 48 resident(in in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %t = npu.vector tanh(%x) ops 48 resident(in in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: in0 is not resident: no operation before leaves it in SPM

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops 48 resident(out in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %z = npu.vector reduce(%x) ops 48 resident(in in0, out out0 over in0) : (tensor<6x8xf32>) -> tensor<8xf32>
  %t = npu.vector relu(%z) ops 8 resident(in in0) : (tensor<8xf32>) -> tensor<8xf32>
  func.return
}

// CHECK: out0 over in0: their types must be the same

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %z = npu.vector relu(%x) ops 48 resident(out out0 over in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: out0 over in0: expected a result over an operand that is resident before and not after

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.vector relu(%x) ops 48 reads [24] resident(out in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: in0 is left resident, but only 24 of its elements are moved

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [n : 2, m : 2] resident(out X) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: X is resident, but not read once as a whole: the loop over n comes back to blocks of X that have left

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [k : 2, m : 2] resident(out Y) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector relu(%y) ops 24 resident(in in0) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %y : tensor<6x4xf32>
}

// CHECK: Y is stored and resident, but not written once as a whole: the loop over k comes back to blocks of Y that have left

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [cores m : 3] resident(out X) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  func.return
}

// CHECK: loops over cores: a resident tensor would be split among the SPMs of all cores

// -----

// X has 48 elements, W 32; what passes lacks in the contraction between.
func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) {
  %h = npu.vector relu(%x) ops 48 resident(out in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %h[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2, n : 2, k : 2] spm 236 bytes : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector gelu(%x) ops 48 resident(in in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return
}

// CHECK: blocks take 240 bytes (48 of its own, 192 of other resident values), spm promises 236

// -----

// The update writes W, of which a copy would stay.
func.func @f(%w: tensor<8x4xf32> {train.param = "w"}, %g: tensor<8x4xf32>) -> (tensor<8x4xf32> {train.updates = 0 : i64}) {
  %y = npu.vector relu(%w) ops 32 resident(out in0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %w1 = npu.vector sgd(%w, %g) <{lr = 1.0 : f64, momentum = 0.0 : f64}> ops 64 resident(in in0, out in0) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %z = npu.vector gelu(%w) ops 32 resident(in in0) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %w1 : tensor<8x4xf32>
}

// CHECK: it overwrites in0 in DRAM while a copy is resident in SPM

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %r = npu.vector relu(%x) ops 48 resident(out in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) resident(in X) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector relu(%y) ops 24 fused : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %z : tensor<6x4xf32>
}

// CHECK: the npu.contract finds or leaves tensors resident in SPM: nothing may be fused with it

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector relu(%y) ops 24 fused resident(in in0) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %z : tensor<6x4xf32>
}

// CHECK: fused work may not find or leave tensors resident in SPM

// -----

func.func @f(%x: tensor<6x8xf32>) {
  %y = npu.as_block %x : tensor<6x8xf32> -> !npu.block<6x4xf32>
  func.return
}

// CHECK: the block of all of tensor<6x8xf32> is !npu.block<6x8xf32>, got !npu.block<6x4xf32>

// -----

func.func @f(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
    loops [m : 2] keep(Y = 1) keep L2(X = 1) resident(out Y) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %z = npu.vector relu(%y) ops 24 resident(in in0) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  func.return %z : tensor<6x4xf32>
}

// CHECK: blocks in L2: a resident tensor is in SPM, and comes through no other memory
