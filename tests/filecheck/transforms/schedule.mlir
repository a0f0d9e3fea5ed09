// RUN: npuc opt %s -p schedule | filecheck %s
// RUN: npuc opt %s -p 'interleave{mode=zip what="all"},schedule' | filecheck %s --check-prefix=ZIP

// A schedule that has no loops is one: the search leaves it, also where nests run round-robin.
builtin.module attributes {npu.target = {rows = 4 : i64, cols = 4 : i64, dataflow = "os", fill = "overlap", drain = "hidden", spm_bytes = 2048 : i64, double_buffer = true, clock_mhz = 1000.0 : f64, gb_per_s = 8.0 : f64, lanes = 4 : i64}} {
  func.func @f(%x: tensor<6x4xf32>, %w: tensor<4x5xf32>, %v: tensor<4x5xf32>, %u: tensor<6x4xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>) {
    %a = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [] {layer = "a"}
      : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %b = npu.contract (m = 6, n = 5, k = 4) ins(X = %x[m, k], W = %v[k, n]) outs(Y[m, n]) do(Y += X * W) loops [] {layer = "b"}
      : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %c = npu.contract (m = 6, n = 5, k = 4) ins(X = %u[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) {layer = "c"}
      : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    func.return %a, %b, %c : tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x5xf32>
  }
}

// CHECK:      %a = npu.contract {{.*}} do(Y += X * W) loops [] {layer = "a"}
// CHECK-NEXT: %b = npu.contract {{.*}} do(Y += X * W) loops [] {layer = "b"}
// CHECK-NEXT: %c = npu.contract {{.*}} do(Y += X * W) loops [{{.+}}] {{.*}}spm 2048 bytes {layer = "c"}

// ZIP:      npu.interleave spm 2048 bytes {
// ZIP-NEXT: npu.contract {{.*}} do(Y += X * W) loops [] {layer = "a"}
// ZIP-NEXT: npu.contract {{.*}} do(Y += X * W) loops [] {layer = "b"}
// ZIP-NEXT: npu.yield
