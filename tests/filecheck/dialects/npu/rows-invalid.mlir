// RUN: npuc opt %s --parsing-diagnostics --verify-diagnostics --split-input-file | filecheck %s

func.func @f(%x: tensor<4x1x8x6xf32>) {
  %y = npu.group micro 2 of 4 rows 2 of 8 axis 2 keep ins(%x[0]) outs([0]) {
  ^bb0(%a : tensor<2x1x8x6xf32>):
    %h = npu.vector relu(%a) ops 48 : (tensor<2x1x8x6xf32>) -> tensor<2x1x8x6xf32>
    npu.yield %h : tensor<2x1x8x6xf32>
  } : (tensor<4x1x8x6xf32>) -> tensor<4x1x8x6xf32>
  func.return
}

// CHECK: micro 2: rows are walked of one sample at a time

// -----

func.func @f(%x: tensor<2x1x8x6xf32>) {
  %y = npu.group micro 1 of 2 rows 9 of 8 axis 2 keep ins(%x[0]) outs([0]) {
  ^bb0(%a : tensor<1x1x8x6xf32>):
    %h = npu.vector relu(%a) ops 48 : (tensor<1x1x8x6xf32>) -> tensor<1x1x8x6xf32>
    npu.yield %h : tensor<1x1x8x6xf32>
  } : (tensor<2x1x8x6xf32>) -> tensor<2x1x8x6xf32>
  func.return
}

// CHECK: rows 9 of 8: expected 1 to 8

// -----

func.func @f(%x: tensor<2x1x8x6xf32>) {
  %y = npu.group micro 1 of 2 rows 2 of 7 axis 2 keep ins(%x[0]) outs([0]) {
  ^bb0(%a : tensor<1x1x8x6xf32>):
    %h = npu.vector relu(%a) ops 48 : (tensor<1x1x8x6xf32>) -> tensor<1x1x8x6xf32>
    npu.yield %h : tensor<1x1x8x6xf32>
  } : (tensor<2x1x8x6xf32>) -> tensor<2x1x8x6xf32>
  func.return
}

// CHECK: rows 2 of 7: no result has so many along axis 2

// -----

func.func @f(%x: tensor<2x1x8x6xf32>) {
  %y = npu.group micro 1 of 2 rows 2 of 8 axis 4 keep ins(%x[0]) outs([0]) {
  ^bb0(%a : tensor<1x1x8x6xf32>):
    %h = npu.vector relu(%a) ops 48 : (tensor<1x1x8x6xf32>) -> tensor<1x1x8x6xf32>
    npu.yield %h : tensor<1x1x8x6xf32>
  } : (tensor<2x1x8x6xf32>) -> tensor<2x1x8x6xf32>
  func.return
}

// CHECK: result 0 has no rows along axis 4

// -----

func.func @f(%x: tensor<2x1x8x6xf32>) {
  %y = npu.group micro 1 of 2 rows 2 of 8 axis 0 keep ins(%x[0]) outs([0]) {
  ^bb0(%a : tensor<1x1x8x6xf32>):
    %h = npu.vector relu(%a) ops 48 : (tensor<1x1x8x6xf32>) -> tensor<1x1x8x6xf32>
    npu.yield %h : tensor<1x1x8x6xf32>
  } : (tensor<2x1x8x6xf32>) -> tensor<2x1x8x6xf32>
  func.return
}

// CHECK: result 0 has no rows along axis 0

// -----

func.func @f(%x: tensor<2x1x8x6xf32>) {
  %y = npu.group micro 1 of 2 rows 2 of 8 axis 2 store ins(%x[0]) outs([0]) {
  ^bb0(%a : tensor<1x1x8x6xf32>):
    %h = npu.vector relu(%a) ops 48 : (tensor<1x1x8x6xf32>) -> tensor<1x1x8x6xf32>
    npu.yield %h : tensor<1x1x8x6xf32>
  } : (tensor<2x1x8x6xf32>) -> tensor<2x1x8x6xf32>
  func.return
}

// CHECK: expected keep or recompute, got 'store'

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %w = npu.window %x axis 3 from 0 : (tensor<4x8xf32>) -> tensor<2x8xf32>
  func.return
}

// CHECK: axis is 3, its result has 2

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %w = npu.window %x axis 0 from 3 : (tensor<4x8xf32>) -> tensor<2x8xf32>
  func.return
}

// CHECK: rows 3 to 5 of 4

// -----

func.func @f(%x: tensor<4x8xf32>) {
  %w = npu.window %x axis 0 from 0 : (tensor<4x8xf32>) -> tensor<2x6xf32>
  func.return
}

// CHECK: only rows may differ
