// RUN: npuc opt -p autodiff %s | filecheck %s
// RUN: npuc opt -p autodiff,lower-to-npu %s | filecheck %s --check-prefix=NPU

// Communication of the backward pass is derived; what is new in the signature is spread as its parameter is.

// CHECK: func.func @net(%x: tensor<4x8xf32> {train.input = "x", dist.sharding = #dist.sharding<[[0], []]>},
// CHECK-SAME: %w_momentum: tensor<4x6xf32> {train.state = "w.momentum", train.fill = 0.000000e+00 : f64, dist.sharding = #dist.sharding<[[0], []]>})
// CHECK-SAME: -> (tensor<f32> {train.loss},
// CHECK-SAME: tensor<4x6xf32> {train.updates = 1 : i64, dist.sharding = #dist.sharding<[[0], []]>},
// CHECK-SAME: tensor<4x6xf32> {train.updates = 2 : i64, dist.sharding = #dist.sharding<[[0], []]>},
// CHECK-SAME: tensor<4x6xf32> {train.output = "y", dist.sharding = #dist.sharding<[[0], []]>})
func.func @net(
  %x: tensor<4x8xf32> {train.input = "x", dist.sharding = #dist.sharding<[[0], []]>},
  %w: tensor<4x6xf32> {train.param = "w", dist.sharding = #dist.sharding<[[0], []]>}
) -> (tensor<f32> {train.loss}, tensor<4x6xf32> {train.output = "y", dist.sharding = #dist.sharding<[[0], []]>})
  attributes {dist.mesh = #dist.mesh<[2]>, train.optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.5 : f64}}
{
  %0 = dist.all_gather %w axis 0 over [0] addends {layer = "fc"} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = train.matmul %x, %0 {layer = "fc"} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %2 = train.dot_loss %1, %1 {layer = "loss"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<f32>
  %3 = dist.all_reduce %2 over [0] mean {layer = "loss"} : (tensor<f32>) -> tensor<f32>
  func.return %3, %1 : tensor<f32>, tensor<4x6xf32>
}
// CHECK: %3 = dist.all_reduce %2 over [0] mean {layer = "loss"} : (tensor<f32>) -> tensor<f32>
// CHECK: train.affine %{{.*}} scale 0.5 {layer = "loss", role = "dx"} : (tensor<f32>) -> tensor<f32>
// CHECK: [[DW:%.*]] = train.matmul %x t, %{{.*}} {layer = "fc", role = "dw"} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
// CHECK: %dw = dist.reduce_scatter [[DW]] axis 0 over [0] {layer = "fc", role = "dw"} : (tensor<8x6xf32>) -> tensor<4x6xf32>
// CHECK: train.sgd %w, %dw, %w_momentum

// Between operations of the npu level they stay as they are.

// NPU: [[W:%.*]] = dist.all_gather %w axis 0 over [0] addends {layer = "fc"} : (tensor<4x6xf32>) -> tensor<8x6xf32>
// NPU-NEXT: npu.contract (m = 4, n = 6, k = 8) ins(X = %x[m, k], W = [[W]][k, n])
// NPU: dist.all_reduce %{{.*}} over [0] mean {layer = "loss"} : (tensor<f32>) -> tensor<f32>
// NPU: dist.reduce_scatter %{{.*}} axis 0 over [0] {layer = "fc", role = "dw"} : (tensor<8x6xf32>) -> tensor<4x6xf32>
