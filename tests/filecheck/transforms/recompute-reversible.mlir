// RUN: npuc opt %s -p "autodiff,recompute{policy=reversible}" | filecheck %s

// The inputs of a residual pair are computed back from its outputs, the last first: x2 = y2 - G(y1), x1 = y1 - F(x2).

func.func @pair(%a: tensor<6x4xf32> {train.input = "a"}, %t: tensor<6x4xf32> {train.input = "t"},
                %w0: tensor<4x4xf32> {train.param = "in.weight"}, %w1: tensor<4x4xf32> {train.param = "f.weight"},
                %w2: tensor<4x4xf32> {train.param = "g.weight"})
    -> (tensor<f32> {train.loss}) attributes {train.optimizer = {kind = "sgd", lr = 0.5 : f64}} {
  %h = train.matmul %a, %w0 {layer = "in"} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %x1 = train.tanh %h {layer = "x1"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %x2 = train.sigmoid %h {layer = "x2"} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %f = train.matmul %x2, %w1 {layer = "f"} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %y1 = train.add %x1, %f {layer = "y1"} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %g = train.matmul %y1, %w2 {layer = "g"} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %y2 = train.add %x2, %g {layer = "y2"} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %y = train.mul %y1, %y2 {layer = "y"} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %l = train.dot_loss %y, %t {layer = "loss"} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK:      func.func @pair(
// CHECK:        %l = train.dot_loss %y, %t {layer = "loss"}
// CHECK:        train.matmul %y1 t, %{{.+}} names "X dY" {layer = "g", role = "dw"}
// CHECK:        %[[g:.+]] = train.matmul %y1, %w2 {layer = "g", recompute}
// CHECK-NEXT:   %[[x2:.+]] = train.sub %y2, %[[g]] {layer = "y2", recompute}
// CHECK:        train.matmul %[[x2]] t, %{{.+}} names "X dY" {layer = "f", role = "dw"}
// CHECK:        %[[f:.+]] = train.matmul %[[x2]], %w1 {layer = "f", recompute}
// CHECK-NEXT:   %[[x1:.+]] = train.sub %y1, %[[f]] {layer = "y1", recompute}
// CHECK:        train.tanh_grad %{{.+}}, %[[x1]] {layer = "x1", role = "dx"}
