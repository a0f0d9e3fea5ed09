// RUN: npuc opt %s -p "set-target{rows=4 cols=4 spm-bytes=1024 clock-mhz=1000 gb-per-s=4 lanes=4},schedule,fuse-layers" | filecheck %s

// The activation between the two products does not fit for all samples: it passes in SPM by micro-batches.
func.func @f(%x: tensor<64x8xf32> {train.input = "x"}, %v: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<64x4xf32> {
  %0 = npu.contract (m = 64, n = 16, k = 8) ins(X = %x[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) {layer = "one"} : (tensor<64x8xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
  %h = npu.vector relu(%0) ops 1024 {layer = "two"} : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %y = npu.contract (m = 64, n = 4, k = 16) ins(X = %h[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {layer = "three"} : (tensor<64x16xf32>, tensor<16x4xf32>) -> tensor<64x4xf32>
  func.return %y : tensor<64x4xf32>
}

// CHECK-LABEL: @f
// CHECK-NEXT: %y = npu.group micro [[M:[0-9]+]] of 64 ins(%x[0], %v{{.*}}, %w{{.*}}) outs([0]) {
// CHECK-NEXT: ^bb0
// CHECK-NEXT: {{%.*}} = npu.contract {{.*}} resident(out Y) {layer = "one"}
// CHECK-NEXT: %h = npu.vector relu({{.*}}) ops {{[0-9]+}} resident(in in0, out out0 over in0) {layer = "two"}
// CHECK-NEXT: {{%.*}} = npu.contract {{.*}} resident(in X{{.*}}) {layer = "three"}
// CHECK-NEXT: npu.yield
// CHECK-NEXT: } {layer = "one", saved_cycles = {{[0-9]+}} : i64, saved_bytes = {{-?[0-9]+}} : i64}
