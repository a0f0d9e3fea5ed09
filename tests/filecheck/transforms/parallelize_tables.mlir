// RUN: npuc opt -p "parallelize{strategy=dp devices=2 tables=rows}" %s | filecheck %s
// RUN: npuc opt -p "parallelize{strategy=dp mesh=2x2 tables=rows},autodiff" %s | filecheck %s --check-prefix=TWO

// Each device looks the indices of the whole batch up in its rows; partial sums are scattered along the batch.

func.func @net(
  %i: tensor<8xi32> {train.input = "i"},
  %j: tensor<8xi32> {train.input = "j"},
  %t: tensor<8x4xf32> {train.input = "t"},
  %w: tensor<16x4xf32> {train.param = "w"}
) -> (tensor<f32> {train.loss}) attributes {train.optimizer = {kind = "sgd", lr = 0.1 : f64}}
{
  %0 = train.add %i, %j {layer = "ids"} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  %1 = train.embedding %0, %w {layer = "e"} : (tensor<8xi32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %2 = train.dot_loss %1, %t {layer = "loss"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<f32>
  func.return %2 : tensor<f32>
}

// CHECK: %w: tensor<8x4xf32> {train.param = "w", dist.sharding = #dist.sharding<[[0], []]>})
// CHECK-SAME: layers = {e = "II"}
// CHECK-SAME: tables = {e = "rows"}
// CHECK: %[[IDS:.*]] = dist.all_gather %{{.*}} axis 0 over [0] {layer = "e"} : (tensor<4xi32>) -> tensor<8xi32>
// CHECK-NEXT: %[[ALL:.*]] = train.arange {layer = "e"} : () -> tensor<2xi32>
// CHECK-NEXT: %[[OWN:.*]] = dist.slice %[[ALL]] axis 0 over [0] {layer = "e"} : (tensor<2xi32>) -> tensor<1xi32>
// CHECK-NEXT: %[[SUM:.*]] = train.embedding %[[IDS]], %w, %[[OWN]] of 16 {layer = "e"} : (tensor<8xi32>, tensor<8x4xf32>, tensor<1xi32>) -> tensor<8x4xf32>
// CHECK-NEXT: %{{.*}} = dist.reduce_scatter %[[SUM]] axis 0 over [0] {layer = "e"} : (tensor<8x4xf32>) -> tensor<4x4xf32>

// With two levels the inner one is scattered over first. The gradient of the table stays where its rows are.

// TWO: %[[SUM:.*]] = train.embedding
// TWO-NEXT: %[[PART:.*]] = dist.reduce_scatter %[[SUM]] axis 0 over [1] {layer = "e"} : (tensor<8x4xf32>) -> tensor<4x4xf32>
// TWO-NEXT: %{{.*}} = dist.reduce_scatter %[[PART]] axis 0 over [0] within [1] {layer = "e"} : (tensor<4x4xf32>) -> tensor<2x4xf32>
// TWO: dist.all_gather %{{.*}} axis 0 over [0] within [1] {layer = "e", role = "dw"} : (tensor<2x4xf32>) -> tensor<4x4xf32>
// TWO-NEXT: %[[DY:.*]] = dist.all_gather %{{.*}} axis 0 over [1] {layer = "e", role = "dw"} : (tensor<4x4xf32>) -> tensor<8x4xf32>
// TWO-NEXT: %[[DW:.*]] = train.embedding_dw %[[DY]], %{{.*}}, %{{.*}} of 16 {layer = "e", role = "dw"} : (tensor<8x4xf32>, tensor<8xi32>, tensor<1xi32>) -> tensor<4x4xf32>
// TWO-NEXT: train.sgd %w, %[[DW]]
