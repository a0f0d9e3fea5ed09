// RUN: npuc opt %s -p "set-target{rows=4 cols=4 spm-bytes=512 clock-mhz=1000 gb-per-s=4 lanes=4},schedule,fuse-layers{rows=keep objective=traffic}" | filecheck %s
// RUN: npuc opt %s -p "set-target{rows=4 cols=4 spm-bytes=512 clock-mhz=1000 gb-per-s=4 lanes=4},schedule,fuse-layers{rows=recompute objective=traffic}" | filecheck %s --check-prefix TWICE
// RUN: npuc opt %s -p "set-target{rows=4 cols=4 spm-bytes=512 clock-mhz=1000 gb-per-s=4 lanes=4},schedule,fuse-layers{rows=off objective=traffic}" | filecheck %s --check-prefix OFF

// The sample does not fit: the activation between the convolutions passes in SPM by bands of rows.
func.func @f(%x: tensor<1x1x16x16xf32> {train.input = "x"}, %v: tensor<1x1x3x1xf32>, %w: tensor<1x1x3x1xf32>) -> tensor<1x1x16x16xf32> {
  %0 = npu.contract (b = 1, o = 1, i = 1, y = 16, x = 16, r = 3) ins(X = %x[b, i, y + r - 1, x], W = %v[o, i, r, 0]) outs(Y[b, o, y, x]) do(Y += X * W) {layer = "one"} : (tensor<1x1x16x16xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x16x16xf32>
  %h = npu.vector relu(%0) ops 256 {layer = "two"} : (tensor<1x1x16x16xf32>) -> tensor<1x1x16x16xf32>
  %y = npu.contract (b = 1, o = 1, i = 1, y = 16, x = 16, r = 3) ins(X = %h[b, i, y + r - 1, x], W = %w[o, i, r, 0]) outs(Y[b, o, y, x]) do(Y += X * W) {layer = "three"} : (tensor<1x1x16x16xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x16x16xf32>
  func.return %y : tensor<1x1x16x16xf32>
}

// CHECK-LABEL: @f
// CHECK-NEXT: %y = npu.group micro 1 of 1 rows [[R:[0-9]+]] of 16 axis 2 keep ins(%x[0], %v held, %w held) outs([0]) {
// CHECK: npu.contract {{.*}} loops {{.*}} resident({{.*}}out Y) {layer = "one"}
// CHECK-NEXT: %h = npu.vector relu({{.*}}) ops 256 resident(in in0, out out0 over in0) {layer = "two"}
// CHECK-NEXT: npu.contract {{.*}} resident(in X{{.*}}) {layer = "three"}
// CHECK: saved_cycles = {{-?[0-9]+}} : i64, saved_bytes = {{[0-9]+}} : i64}
// TWICE: npu.group micro 1 of 1 rows {{[0-9]+}} of 16 axis 2 recompute
// OFF-NOT: npu.group
