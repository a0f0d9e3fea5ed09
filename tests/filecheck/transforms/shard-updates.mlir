// RUN: npuc opt %s -p "parallelize{strategy=dp devices=2},autodiff,shard-updates" | filecheck %s
// RUN: npuc opt %s -p "parallelize{strategy=dp devices=2},autodiff,shard-updates{stage=2}" | filecheck %s --check-prefix=EARLY

// Each of two devices updates half of the weight, and has half of its momentum: the gradient is summed into halves when
// all gradients are there, or with stage 2 where it is made.

func.func @fc(%x: tensor<8x4xf32> {train.input = "x"}, %t: tensor<8x6xf32> {train.input = "t"},
              %w: tensor<4x6xf32> {train.param = "fc.weight"})
    -> (tensor<f32> {train.loss}) attributes {train.optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.9 : f64}} {
  %y = train.matmul %x, %w {layer = "fc"} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %l = train.dot_loss %y, %t {layer = "loss"} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK:      func.func @fc(
// CHECK-SAME:   %fc_weight_momentum: tensor<2x6xf32> {train.state = "fc.weight.momentum"{{.*}}dist.sharding = #dist.sharding<{{\[\[}}0], []]>}
// CHECK:        [[G:%.+]] = train.matmul {{.*}} names "X dY" {layer = "fc", role = "dw"}
// CHECK-NOT:    dist.all_reduce {{.*}}role = "dw"
// CHECK:        [[D:%.+]] = dist.reduce_scatter [[G]] axis 0 over [0] {layer = "fc", role = "dw"}
// CHECK-NEXT:   [[P:%.+]] = dist.slice %w axis 0 over [0] {layer = "fc.weight", role = "update"}
// CHECK-NEXT:   [[N:%.+]], {{%.+}} = train.sgd [[P]], [[D]], %fc_weight_momentum
// CHECK-NEXT:   {{%.+}} = dist.all_gather [[N]] axis 0 over [0] {layer = "fc.weight", role = "update"}

// EARLY:        [[G:%.+]] = train.matmul {{.*}} names "X dY" {layer = "fc", role = "dw"}
// EARLY-NEXT:   dist.reduce_scatter [[G]] axis 0 over [0] {layer = "fc", role = "dw"}
