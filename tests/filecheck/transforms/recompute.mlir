// RUN: npuc opt %s -p "autodiff,recompute{policy=every-k k=2}" --split-input-file | filecheck %s
// RUN: npuc opt %s -p "autodiff,recompute{policy=none}" --split-input-file | filecheck %s --check-prefix=NONE

// What crosses the end of every second layer is kept; a view of what is not runs again with it.

func.func @views(%x: tensor<6x4xf32> {train.input = "x"}, %t: tensor<4x6xf32> {train.input = "t"},
                 %w1: tensor<4x4xf32> {train.param = "fc1.weight"}, %w2: tensor<6x6xf32> {train.param = "fc2.weight"},
                 %w3: tensor<6x6xf32> {train.param = "fc3.weight"})
    -> (tensor<f32> {train.loss}) attributes {train.optimizer = {kind = "sgd", lr = 0.5 : f64}} {
  %h = train.matmul %x, %w1 {layer = "fc1"} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %v = train.reshape %h {layer = "view"} : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %y = train.matmul %v, %w2 {layer = "fc2"} : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %z = train.matmul %y, %w3 {layer = "fc3"} : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
  %l = train.dot_loss %z, %t {layer = "loss"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK:      func.func @views(
// CHECK:        %l = train.dot_loss %z, %t {layer = "loss"}
// CHECK:        train.matmul %y t, %t names "X dY" {layer = "fc3", role = "dw"}
// CHECK-NEXT:   %[[h:.+]] = train.matmul %x, %w1 {layer = "fc1", recompute}
// CHECK-NEXT:   %[[v:.+]] = train.reshape %[[h]] {layer = "view", recompute}
// CHECK-NEXT:   %dv = train.matmul %dy, %w2 t names "dY W" {layer = "fc2", role = "dx"}
// CHECK-NEXT:   %dw2 = train.matmul %[[v]] t, %dy names "X dY" {layer = "fc2", role = "dw"}
// NONE-NOT:     recompute
