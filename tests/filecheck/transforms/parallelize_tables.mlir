// RUN: npuc opt -p "parallelize{strategy=dp devices=2 tables=rows}" %s | filecheck %s
// RUN: npuc opt -p "parallelize{strategy=dp mesh=2x2 tables=rows},autodiff" %s | filecheck %s --check-prefix=TWO
// RUN: npuc opt -p "parallelize{strategy=dp devices=2 tables=whole},autodiff" %s | filecheck %s --check-prefix=WHOLE

// Each device looks the indices of the whole batch up in its rows; partial sums are scattered along the batch.

func.func @net(
  %i: tensor<8xi32> {train.input = "i"},
  %j: tensor<8xi32> {train.input = "j"},
  %t: tensor<8x4xf32> {train.input = "t"},
  %w: tensor<16x4xf32> {train.param = "w"},
  %v: tensor<5x4xf32> {train.param = "v"}
) -> (tensor<f32> {train.loss}) attributes {train.optimizer = {kind = "sgd", lr = 0.1 : f64}}
{
  %0 = train.add %i, %j {layer = "ids"} : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  %1 = train.embedding %0, %w {layer = "e"} : (tensor<8xi32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %3 = train.embedding %j, %v {layer = "v"} : (tensor<8xi32>, tensor<5x4xf32>) -> tensor<8x4xf32>
  %4 = train.add %1, %3 {layer = "sum"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = train.dot_loss %4, %t {layer = "loss"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<f32>
  func.return %2 : tensor<f32>
}

// CHECK: %w: tensor<8x4xf32> {train.param = "w", dist.sharding = #dist.sharding<[[0], []]>}, %v: tensor<3x4xf32> {train.param = "v", train.tables = [{name = "v", at = 0 : i64, rows = 5 : i64}], dist.sharding = #dist.sharding<[[0], []]>})
// CHECK-SAME: layers = {e = "II", v = "II"}
// CHECK-SAME: tables = {e = "rows", v = "rows"}
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
// TWO: train.sgd %w, %[[DW]]

// Whole tables: one argument has the rows of one on each device, and vectors go from their owners to those of the batch.

// WHOLE: %tables: tensor<16x4xf32> {train.param = "tables", train.tables = [{name = "w", at = 0 : i64, rows = 16 : i64}, {name = "v", at = 16 : i64, rows = 5 : i64}], dist.sharding = #dist.sharding<[[0], []]>})
// WHOLE-SAME: tables = {tables = "whole"}
// WHOLE: %[[Y:.*]] = train.embedding %{{.*}}, %tables, %{{.*}} groups 1 {layer = "tables"} : (tensor<1x8xi32>, tensor<16x4xf32>, tensor<1x2xi32>) -> tensor<1x8x4xf32>
// WHOLE-NEXT: %{{.*}} = dist.all_to_all %[[Y]] split 1 concat 0 over [0] {layer = "tables"} : (tensor<1x8x4xf32>) -> tensor<2x4x4xf32>
// WHOLE: %[[D:.*]] = dist.all_to_all %{{.*}} split 0 concat 1 over [0] {layer = "tables", role = "{{d.}}"} : (tensor<2x4x4xf32>) -> tensor<1x8x4xf32>
// WHOLE-NEXT: %[[DT:.*]] = train.embedding_dw %[[D]], %{{.*}}, %{{.*}} groups 1
// WHOLE-NEXT: train.sgd %tables, %[[DT]]
