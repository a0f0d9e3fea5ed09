// RUN: npuc opt %s -p "predict-gradients{phase=gp pool=2 features=1}" | filecheck %s
// RUN: npuc opt %s -p "predict-gradients{phase=bp pool=2 features=1}" | filecheck %s --check-prefix=BP
// RUN: npuc opt %s -p "predict-gradients{phase=gp predictor=ideal}" | filecheck %s --check-prefix=IDEAL

func.func @two(%x: tensor<8x4xf32> {train.input = "x"}, %t: tensor<8x6xf32> {train.input = "t"},
               %w1: tensor<4x5xf32> {train.param = "fc1.weight"}, %w2: tensor<5x6xf32> {train.param = "fc2.weight"})
    -> (tensor<f32> {train.loss}) attributes {train.optimizer = {kind = "sgd", lr = 0.5 : f64}} {
  %h = train.matmul %x, %w1 {layer = "fc1"} : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  %y = train.matmul %h, %w2 {layer = "fc2"} : (tensor<8x5xf32>, tensor<5x6xf32>) -> tensor<8x6xf32>
  %l = train.dot_loss %y, %t {layer = "loss"} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// The weight of a layer is updated behind it; the shorter rows of fc1 are the first columns of the linear layer.

// CHECK:      func.func @two(
// CHECK:        %h = train.matmul %x, %w1 {layer = "fc1"}
// CHECK:        train.adaptive_avg_pool {{.+}} size [4, 5] {layer = "predictor.fc1.pool"}
// CHECK:        train.conv2d {{.+}} {layer = "predictor.fc1"} : (tensor<5x1x2x2xf32>, tensor<1x1x3x3xf32>)
// CHECK:        %[[part:.+]] = train.slice %predictor_linear_weight starts [0, 0] {{.+}} -> tensor<4x4xf32>
// CHECK:        %[[dw:.+]] = train.add {{.+}} {layer = "predictor.fc1"} : (tensor<4x5xf32>, tensor<4x1xf32>)
// CHECK-NEXT:   %w1_new = train.sgd %w1, %[[dw]] lr 0.5 {layer = "fc1.weight", role = "update"}
// CHECK-NEXT:   %y = train.matmul %h, %w2 {layer = "fc2"}
// CHECK:        %w2_new = train.sgd %w2, {{.+}} {layer = "fc2.weight", role = "update"}
// CHECK-NEXT:   train.dot_loss
// CHECK-NOT:    role = "dw"

// The predictor learns a gradient as soon as it is there.

// BP:           func.func @two({{.+}} {train.output = "predictor.loss"}
// BP:           %dw2 = train.matmul %h t, %t names "X dY" {layer = "fc2", role = "dw"}
// BP:           train.mse {{.+}}, %dw2 reduction "sum" {layer = "predictor.fc2"}
// BP:           %dw1 = train.matmul %x t, %dh names "X dY" {layer = "fc1", role = "dw"}
// BP:           train.mse {{.+}}, %dw1 reduction "sum" {layer = "predictor.fc1"}
// BP:           train.adam %predictor_linear_weight

// IDEAL:        func.func @two({{.+}} {train.input = "fc2.weight.gradient"}
// IDEAL:        %w1_new = train.sgd %w1, %fc1_weight_gradient lr 0.5
