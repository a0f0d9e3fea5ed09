// RUN: npuc opt %s | npuc opt | filecheck %s

// What devices do together: the text that prints is the text that was read.

// CHECK: func.func @operations(%x: tensor<6x8xf32> {train.input = "x", dist.sharding = #dist.sharding<[[0], []]>},
// CHECK-SAME: %w: tensor<12x12xf32> {train.param = "w"}) -> (tensor<6x8xf32>
// CHECK-SAME: {train.output = "y", dist.sharding = #dist.sharding<[[0], []] partial [1]>})
// CHECK-SAME: attributes {dist.mesh = #dist.mesh<[2, 3]>}
func.func @operations(
  %x: tensor<6x8xf32> {train.input = "x", dist.sharding = #dist.sharding<[[0], []]>},
  %w: tensor<12x12xf32> {train.param = "w"}
) -> (tensor<6x8xf32> {train.output = "y", dist.sharding = #dist.sharding<[[0], []] partial [1]>})
  attributes {dist.mesh = #dist.mesh<[2, 3]>}
{
  %0 = dist.slice %w axis 1 over [0] : (tensor<12x12xf32>) -> tensor<12x6xf32>
  // CHECK: %0 = dist.slice %w axis 1 over [0] : (tensor<12x12xf32>) -> tensor<12x6xf32>
  %1 = dist.slice %0 axis 1 over [1] within [0] {layer = "a", role = "dw"} : (tensor<12x6xf32>) -> tensor<12x2xf32>
  // CHECK: %1 = dist.slice %0 axis 1 over [1] within [0] {layer = "a", role = "dw"} : (tensor<12x6xf32>) -> tensor<12x2xf32>
  %2 = dist.all_gather %1 axis 1 over [0] within [1] : (tensor<12x2xf32>) -> tensor<12x4xf32>
  // CHECK: %2 = dist.all_gather %1 axis 1 over [0] within [1] : (tensor<12x2xf32>) -> tensor<12x4xf32>
  %3 = dist.all_gather %0 axis 1 over [0] addends : (tensor<12x6xf32>) -> tensor<12x12xf32>
  // CHECK: %3 = dist.all_gather %0 axis 1 over [0] addends : (tensor<12x6xf32>) -> tensor<12x12xf32>
  %4 = dist.all_to_all %0 split 0 concat 1 over [0] : (tensor<12x6xf32>) -> tensor<6x12xf32>
  // CHECK: %4 = dist.all_to_all %0 split 0 concat 1 over [0] : (tensor<12x6xf32>) -> tensor<6x12xf32>
  %5 = dist.all_to_all %1 split 0 concat 1 over [0] concat_within [1] : (tensor<12x2xf32>) -> tensor<6x4xf32>
  // CHECK: %5 = dist.all_to_all %1 split 0 concat 1 over [0] concat_within [1] : (tensor<12x2xf32>) -> tensor<6x4xf32>
  %6 = dist.all_to_all %5 split 1 concat 0 over [0] split_within [1] : (tensor<6x4xf32>) -> tensor<12x2xf32>
  // CHECK: %6 = dist.all_to_all %5 split 1 concat 0 over [0] split_within [1] : (tensor<6x4xf32>) -> tensor<12x2xf32>
  %7 = dist.all_reduce %x over [0, 1] : (tensor<6x8xf32>) -> tensor<6x8xf32>
  // CHECK: %7 = dist.all_reduce %x over [0, 1] : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %c = dist.all_reduce %x over [0, 1] {dist.chunks = #dist.chunks<scf 1 x [1, 0], 3 x [0, 1]>} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  // CHECK: dist.all_reduce %x over [0, 1] {dist.chunks = #dist.chunks<scf 1 x [1, 0], 3 x [0, 1]>} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %d = dist.all_reduce %x over [0, 1] {dist.chunks = #dist.chunks<listed [0, 1, 1, 0] 1 x [1, 0] back [1, 0], 1 x [0, 1]>} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  // CHECK: dist.all_reduce %x over [0, 1] {dist.chunks = #dist.chunks<listed [0, 1, 1, 0] 1 x [1, 0] back [1, 0], 1 x [0, 1]>} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %8 = dist.all_reduce %x over [1] mean : (tensor<6x8xf32>) -> tensor<6x8xf32>
  // CHECK: %8 = dist.all_reduce %x over [1] mean : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %9 = dist.reduce_scatter %w axis 0 over [1] : (tensor<12x12xf32>) -> tensor<4x12xf32>
  // CHECK: %9 = dist.reduce_scatter %w axis 0 over [1] : (tensor<12x12xf32>) -> tensor<4x12xf32>
  %10 = dist.copy %w over [0, 1] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: %10 = dist.copy %w over [0, 1] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  %11 = dist.send_receive %x source [0, 1] target [1, 2] over [1] : (tensor<6x8xf32>) -> tensor<6x8xf32>
  // CHECK: %11 = dist.send_receive %x source [0, 1] target [1, 2] over [1] : (tensor<6x8xf32>) -> tensor<6x8xf32>
  func.return %x : tensor<6x8xf32>
}
