// RUN: npuc opt %s -p "bucket-gradients{mib=0.0001}" | filecheck %s
// RUN: npuc opt %s -p "bucket-gradients{mib=0}" | filecheck %s --check-prefix=ALONE
// RUN: npuc opt %s -p "bucket-gradients,schedule-collectives{chunks=2}" | filecheck %s --check-prefix=CHUNKS

// Gradients of 64, 64 and 4 elements in the order in which they are there: a bucket of 104.9 bytes is full with the
// first, the others follow. Updates stand in the order of buckets, and a sum stands where its gradient is there.

func.func @step(%x: tensor<16x4xf32> {train.input = "x"}, %dy: tensor<4x4xf32> {train.input = "dy"},
    %v: tensor<16x4xf32> {train.param = "v"}, %w: tensor<16x4xf32> {train.param = "w"}, %b: tensor<4xf32> {train.param = "b"})
    -> (tensor<16x4xf32> {train.updates = 2 : i64}, tensor<16x4xf32> {train.updates = 3 : i64}, tensor<4xf32> {train.updates = 4 : i64})
    attributes {dist.mesh = #dist.mesh<[2, 2]>} {
  %g = train.relu %x {role = "dw", layer = "w"} : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %gs = dist.all_reduce %g over [0, 1] {role = "dw", layer = "w"} : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %h = train.relu %g {role = "dw", layer = "v"} : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %hs = dist.all_reduce %h over [0, 1] {role = "dw", layer = "v"} : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %f = train.reduce %dy {role = "dw", layer = "b"} : (tensor<4x4xf32>) -> tensor<4xf32>
  %v1 = train.sub %v, %hs {role = "update", layer = "v"} : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
  %w1 = train.sub %w, %gs {role = "update", layer = "w"} : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
  %fs = dist.all_reduce %f over [0, 1] {role = "dw", layer = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  %b1 = train.sub %b, %fs {role = "update", layer = "b"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %v1, %w1, %b1 : tensor<16x4xf32>, tensor<16x4xf32>, tensor<4xf32>
}

// CHECK:      %g = train.relu %x
// CHECK-NEXT: %gs = dist.all_reduce %g over [0, 1] {{.*}}dist.bucket = 1 : i64
// CHECK-NEXT: %h = train.relu %g
// CHECK-NEXT: %hs = dist.all_reduce %h over [0, 1] {{.*}}dist.bucket = 2 : i64
// CHECK-NEXT: %f = train.reduce
// CHECK-NEXT: %fs = dist.all_reduce %f over [0, 1] {{.*}}dist.bucket = 3 : i64
// CHECK-NEXT: %w1 = train.sub %w, %gs
// CHECK-NEXT: %v1 = train.sub %v, %hs
// CHECK-NEXT: %b1 = train.sub %b, %fs
// CHECK-NEXT: func.return %v1, %w1, %b1

// ALONE: %gs = dist.all_reduce {{.*}}dist.bucket = 1 : i64
// ALONE: %hs = dist.all_reduce {{.*}}dist.bucket = 2 : i64
// ALONE: %fs = dist.all_reduce {{.*}}dist.bucket = 3 : i64

// CHUNKS:      %gs = dist.all_reduce %g over [0, 1] {role = "dw", layer = "w", dist.bucket = 1 : i64} :
// CHUNKS:      %hs = dist.all_reduce %h over [0, 1] {role = "dw", layer = "v", dist.bucket = 1 : i64} :
// CHUNKS:      %fs = dist.all_reduce %f over [0, 1] {role = "dw", layer = "b", dist.bucket = 1 : i64, dist.chunks = #dist.chunks<fifo 2 x [1, 0]>} :
