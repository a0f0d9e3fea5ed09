// RUN: npuc opt %s --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.opaque %a operator "" : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: operator is '', expected a name of 1 to 256 printable characters
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.opaque %a operator "acme.f" macs -1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: macs is -1, expected 0 to 9007199254740992
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  train.opaque %a operator "acme.f" : (tensor<2x3xf32>) -> ()
  // CHECK: expected a result
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.opaque %a operator "acme.f" batch [0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: batch is [0], expected an axis for each of 2 operands and results
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.opaque %a operator "acme.f" batch [0, 1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: batch is [0, 1], expected axes of one size, of a tensor at least
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.opaque %a operator "acme.f" batch [0, 2] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: batch is [0, 2]: 2x3 has no axis 2
  func.return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  %r = train.opaque_grad %a operator "acme.f" of [1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: of is [1], expected ascending numbers of 1 operands
  func.return
}
