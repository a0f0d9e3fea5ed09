// RUN: npuc opt %s | npuc opt | filecheck %s
// RUN: npuc opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: npuc opt %s --print-op-generic | npuc opt | filecheck %s

func.func @tiles(%X: tensor<6x8xf32>, %W: tensor<8x4xf32>, %B: tensor<4xf32>, %m: index, %end: index, %first: i1) -> tensor<6x4xf32> {
  %e = npu.empty : tensor<6x4xf32>
  %x = npu.load %X[m, k] over (m = %m : 2 in %end, k = 0 : 8) {tensor = "X"} : tensor<6x8xf32> -> !npu.block<2x8xf32>
  %w = npu.load %W[k, n] over (k = 0 : 8, n = 0 : 4 in 4) {tensor = "W"} : tensor<8x4xf32> -> !npu.block<8x4xf32>
  %b = npu.load %B[n] over (n = 0 : 4) when %first {tensor = "Y0"} : tensor<4xf32> -> !npu.block<4xf32>
  %p = npu.load partial %e[m, n] over (m = %m : 2 in %end, n = 0 : 4) {tensor = "Y"} : tensor<6x4xf32> -> !npu.block<2x4xf32>
  %z = npu.zero [m, n] over (m = %m : 2, n = 0 : 4) {tensor = "Y"} : !npu.block<2x4xf32>
  %s = npu.start %p[m, n] from %b[n] over (m = %m : 2 in %end, n = 0 : 4) : !npu.block<2x4xf32>, !npu.block<4xf32>
  %a = npu.mac %s[m, n] += %x[m, k] * %w[k, n] over (m = %m : 2 in %end, n = 0 : 4, k = 0 : 8) {layer = "fc"} : !npu.block<2x4xf32>, !npu.block<2x8xf32>, !npu.block<8x4xf32>
  %o, %v = npu.apply sgd(%a, %s, %p, %b) <{lr = 1.0 : f64}> into (%a, %p) on 6x4[m, n] over (m = %m : 2 in %end, n = 0 : 4) {layer = "w"} : (!npu.block<2x4xf32>, !npu.block<2x4xf32>, !npu.block<2x4xf32>, !npu.block<4xf32>) -> (!npu.block<2x4xf32>, !npu.block<2x4xf32>)
  %f = npu.store %a into %e[m, n] over (m = %m : 2 in %end, n = 0 : 4) {tensor = "Y"} : !npu.block<2x4xf32>, tensor<6x4xf32>
  %y = npu.finish %f from %B axes [1] {tensor = "Y"} : tensor<6x4xf32>, tensor<4xf32>
  %g = npu.empty {layer = "fc"} : tensor<f32>
  %h = npu.finish %g : tensor<f32>
  func.return %y : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @tiles(%X: tensor<6x8xf32>, %W: tensor<8x4xf32>, %B: tensor<4xf32>, %m: index, %end: index, %first: i1) -> tensor<6x4xf32> {
// CHECK-NEXT:   %e = npu.empty : tensor<6x4xf32>
// CHECK-NEXT:   %x = npu.load %X[m, k] over (m = %m : 2 in %end, k = 0 : 8) {tensor = "X"} : tensor<6x8xf32> -> !npu.block<2x8xf32>
// CHECK-NEXT:   %w = npu.load %W[k, n] over (k = 0 : 8, n = 0 : 4 in 4) {tensor = "W"} : tensor<8x4xf32> -> !npu.block<8x4xf32>
// CHECK-NEXT:   %b = npu.load %B[n] over (n = 0 : 4) when %first {tensor = "Y0"} : tensor<4xf32> -> !npu.block<4xf32>
// CHECK-NEXT:   %p = npu.load partial %e[m, n] over (m = %m : 2 in %end, n = 0 : 4) {tensor = "Y"} : tensor<6x4xf32> -> !npu.block<2x4xf32>
// CHECK-NEXT:   %z = npu.zero [m, n] over (m = %m : 2, n = 0 : 4) {tensor = "Y"} : !npu.block<2x4xf32>
// CHECK-NEXT:   %s = npu.start %p[m, n] from %b[n] over (m = %m : 2 in %end, n = 0 : 4) : !npu.block<2x4xf32>, !npu.block<4xf32>
// CHECK-NEXT:   %a = npu.mac %s[m, n] += %x[m, k] * %w[k, n] over (m = %m : 2 in %end, n = 0 : 4, k = 0 : 8) {layer = "fc"} : !npu.block<2x4xf32>, !npu.block<2x8xf32>, !npu.block<8x4xf32>
// CHECK-NEXT:   %o, %v = npu.apply sgd(%a, %s, %p, %b) <{lr = 1.000000e+00 : f64}> into (%a, %p) on 6x4[m, n] over (m = %m : 2 in %end, n = 0 : 4) {layer = "w"} : (!npu.block<2x4xf32>, !npu.block<2x4xf32>, !npu.block<2x4xf32>, !npu.block<4xf32>) -> (!npu.block<2x4xf32>, !npu.block<2x4xf32>)
// CHECK-NEXT:   %f = npu.store %a into %e[m, n] over (m = %m : 2 in %end, n = 0 : 4) {tensor = "Y"} : !npu.block<2x4xf32>, tensor<6x4xf32>
// CHECK-NEXT:   %y = npu.finish %f from %B axes [1] {tensor = "Y"} : tensor<6x4xf32>, tensor<4xf32>
// CHECK-NEXT:   %g = npu.empty {layer = "fc"} : tensor<f32>
// CHECK-NEXT:   %h = npu.finish %g : tensor<f32>
// CHECK-NEXT:   func.return %y : tensor<6x4xf32>
// CHECK-NEXT: }

// Positions of a strided index are counted, not the span that holds them.
func.func @strided(%x: tensor<16xf32>) {
  %s = npu.load %x[y * 2] over (y = 0 : 4) : tensor<16xf32> -> !npu.block<4xf32>
  %w = npu.load %x[y * 2 + r - 1] over (y = 0 : 4, r = 0 : 3) : tensor<16xf32> -> !npu.block<9xf32>
  %c = npu.load %x[3] over (y = 0 : 4) : tensor<16xf32> -> !npu.block<1xf32>
  func.return
}

// CHECK-LABEL: func.func @strided(%x: tensor<16xf32>) {
// CHECK-NEXT:   %s = npu.load %x[y * 2] over (y = 0 : 4) : tensor<16xf32> -> !npu.block<4xf32>
// CHECK-NEXT:   %w = npu.load %x[y * 2 + r - 1] over (y = 0 : 4, r = 0 : 3) : tensor<16xf32> -> !npu.block<9xf32>
// CHECK-NEXT:   %c = npu.load %x[3] over (y = 0 : 4) : tensor<16xf32> -> !npu.block<1xf32>
// CHECK-NEXT:   func.return
// CHECK-NEXT: }

// GENERIC: %e = "npu.empty"() : () -> tensor<6x4xf32>
// GENERIC: %x = "npu.load"(%X, %m, %end) <{map = #npu.map<[m, k]>, box = #npu.box<(m = ? : 2 in ?, k = 0 : 8)>, operandSegmentSizes = array<i32: 1, 0, 2>}> {tensor = "X"} : (tensor<6x8xf32>, index, index) -> !npu.block<2x8xf32>
// GENERIC: %w = "npu.load"(%W) <{map = #npu.map<[k, n]>, box = #npu.box<(k = 0 : 8, n = 0 : 4 in 4)>, operandSegmentSizes = array<i32: 1, 0, 0>}> {tensor = "W"} : (tensor<8x4xf32>) -> !npu.block<8x4xf32>
// GENERIC: %b = "npu.load"(%B, %first) <{map = #npu.map<[n]>, box = #npu.box<(n = 0 : 4)>, operandSegmentSizes = array<i32: 1, 1, 0>}> {tensor = "Y0"} : (tensor<4xf32>, i1) -> !npu.block<4xf32>
// GENERIC: %p = "npu.load"(%e, %m, %end) <{map = #npu.map<[m, n]>, box = #npu.box<(m = ? : 2 in ?, n = 0 : 4)>, partial, operandSegmentSizes = array<i32: 1, 0, 2>}> {tensor = "Y"} : (tensor<6x4xf32>, index, index) -> !npu.block<2x4xf32>
// GENERIC: %z = "npu.zero"(%m) <{map = #npu.map<[m, n]>, box = #npu.box<(m = ? : 2, n = 0 : 4)>}> {tensor = "Y"} : (index) -> !npu.block<2x4xf32>
// GENERIC: %s = "npu.start"(%p, %b, %m, %end) <{acc_map = #npu.map<[m, n]>, source_map = #npu.map<[n]>, box = #npu.box<(m = ? : 2 in ?, n = 0 : 4)>}> : (!npu.block<2x4xf32>, !npu.block<4xf32>, index, index) -> !npu.block<2x4xf32>
// GENERIC: %a = "npu.mac"(%s, %x, %w, %m, %end) <{acc_map = #npu.map<[m, n]>, lhs_map = #npu.map<[m, k]>, rhs_map = #npu.map<[k, n]>, box = #npu.box<(m = ? : 2 in ?, n = 0 : 4, k = 0 : 8)>}> {layer = "fc"} : (!npu.block<2x4xf32>, !npu.block<2x8xf32>, !npu.block<8x4xf32>, index, index) -> !npu.block<2x4xf32>
// GENERIC: %o, %v = "npu.apply"(%a, %s, %p, %b, %a, %p, %m, %end) <{kind = "sgd", params = {lr = 1.000000e+00 : f64}, shape = array<i64: 6, 4>, map = #npu.map<[m, n]>, box = #npu.box<(m = ? : 2 in ?, n = 0 : 4)>, operandSegmentSizes = array<i32: 4, 2, 2>}> {layer = "w"} : (!npu.block<2x4xf32>, !npu.block<2x4xf32>, !npu.block<2x4xf32>, !npu.block<4xf32>, !npu.block<2x4xf32>, !npu.block<2x4xf32>, index, index) -> (!npu.block<2x4xf32>, !npu.block<2x4xf32>)
// GENERIC: %f = "npu.store"(%a, %e, %m, %end) <{map = #npu.map<[m, n]>, box = #npu.box<(m = ? : 2 in ?, n = 0 : 4)>}> {tensor = "Y"} : (!npu.block<2x4xf32>, tensor<6x4xf32>, index, index) -> tensor<6x4xf32>
// GENERIC: %y = "npu.finish"(%f, %B) <{axes = array<i64: 1>}> {tensor = "Y"} : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
// GENERIC: %g = "npu.empty"() {layer = "fc"} : () -> tensor<f32>
// GENERIC: %h = "npu.finish"(%g) : (tensor<f32>) -> tensor<f32>
// GENERIC: %s = "npu.load"(%x) <{map = #npu.map<[y * 2]>, box = #npu.box<(y = 0 : 4)>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<16xf32>) -> !npu.block<4xf32>
// GENERIC: %w = "npu.load"(%x) <{map = #npu.map<[y * 2 + r - 1]>, box = #npu.box<(y = 0 : 4, r = 0 : 3)>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<16xf32>) -> !npu.block<9xf32>
// GENERIC: %c = "npu.load"(%x) <{map = #npu.map<[3]>, box = #npu.box<(y = 0 : 4)>, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<16xf32>) -> !npu.block<1xf32>

// Blocks of a memory between SPM and DRAM.
func.func @levels(%X: tensor<6x8xf32>, %m: index, %first: i1) -> !npu.block<6x8xf32> {
  %o = npu.load %X[m, k] over (m = 0 : 6, k = 0 : 8) {tensor = "X", level = "L2"} : tensor<6x8xf32> -> !npu.block<6x8xf32>
  %x = npu.fetch %o[m, k] over (m = %m : 2 in 6, k = 0 : 8) {tensor = "X"} : !npu.block<6x8xf32> -> !npu.block<2x8xf32>
  %p = npu.fetch partial %o[m, k] over (m = %m : 2, k = 0 : 4) when %first : !npu.block<6x8xf32> -> !npu.block<2x4xf32>
  %q = npu.put %p into %o[m, k] over (m = %m : 2, k = 0 : 4) {tensor = "X"} : !npu.block<2x4xf32>, !npu.block<6x8xf32>
  func.return %q : !npu.block<6x8xf32>
}

// CHECK-LABEL: func.func @levels
// CHECK-NEXT:   %o = npu.load %X[m, k] over (m = 0 : 6, k = 0 : 8) {tensor = "X", level = "L2"} : tensor<6x8xf32> -> !npu.block<6x8xf32>
// CHECK-NEXT:   %x = npu.fetch %o[m, k] over (m = %m : 2 in 6, k = 0 : 8) {tensor = "X"} : !npu.block<6x8xf32> -> !npu.block<2x8xf32>
// CHECK-NEXT:   %p = npu.fetch partial %o[m, k] over (m = %m : 2, k = 0 : 4) when %first : !npu.block<6x8xf32> -> !npu.block<2x4xf32>
// CHECK-NEXT:   %q = npu.put %p into %o[m, k] over (m = %m : 2, k = 0 : 4) {tensor = "X"} : !npu.block<2x4xf32>, !npu.block<6x8xf32>
// GENERIC: %p = "npu.fetch"(%o, %first, %m) <{map = #npu.map<[m, k]>, box = #npu.box<(m = ? : 2, k = 0 : 4)>, partial, operandSegmentSizes = array<i32: 1, 1, 1>}> : (!npu.block<6x8xf32>, i1, index) -> !npu.block<2x4xf32>
