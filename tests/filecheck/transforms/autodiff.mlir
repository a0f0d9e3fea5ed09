// RUN: npuc opt %s -p autodiff --split-input-file | filecheck %s

func.func @linear(%x: tensor<6x5xf32> {train.input = "x"}, %t: tensor<6x4xf32> {train.input = "t"},
                  %w1: tensor<5x8xf32> {train.param = "fc1.weight"}, %w2: tensor<8x4xf32> {train.param = "fc2.weight"})
    -> (tensor<f32> {train.loss}) attributes {train.optimizer = {kind = "sgd", lr = 0.5 : f64}} {
  %h0 = train.matmul %x, %w1 {layer = "fc1"} : (tensor<6x5xf32>, tensor<5x8xf32>) -> tensor<6x8xf32>
  %h = train.relu %h0 {layer = "relu1"} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = train.matmul %h, %w2 {layer = "fc2"} : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %l = train.dot_loss %y, %t {layer = "loss"} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK:      func.func @linear(
// CHECK-SAME:   -> (tensor<f32> {train.loss}, tensor<5x8xf32> {train.updates = 2 : i64}, tensor<8x4xf32> {train.updates = 3 : i64}) {
// CHECK-NEXT:   %h0 = train.matmul %x, %w1 {layer = "fc1"}
// CHECK-NEXT:   %h = train.relu %h0 {layer = "relu1"}
// CHECK-NEXT:   %y = train.matmul %h, %w2 {layer = "fc2"}
// CHECK-NEXT:   %l = train.dot_loss %y, %t {layer = "loss"}
// CHECK-NEXT:   %dh = train.matmul %t, %w2 t names "dY W" {layer = "fc2", role = "dx"}
// CHECK-NEXT:   %dw2 = train.matmul %h t, %t names "X dY" {layer = "fc2", role = "dw"}
// CHECK-NEXT:   %dh0 = train.relu_grad %dh, %h {layer = "relu1", role = "dx"}
// CHECK-NEXT:   %dw1 = train.matmul %x t, %dh0 names "X dY" {layer = "fc1", role = "dw"}
// CHECK-NEXT:   %w1_new = train.sgd %w1, %dw1 lr 0.5 {layer = "fc1.weight", role = "update"}
// CHECK-NEXT:   %w2_new = train.sgd %w2, %dw2 lr 0.5 {layer = "fc2.weight", role = "update"}
// CHECK-NEXT:   func.return %l, %w1_new, %w2_new

// -----

// Without an optimizer the gradients are results; a frozen parameter has none.

func.func @gradients(%x: tensor<3x4xf32> {train.input = "x"}, %w: tensor<4xf32> {train.param = "w"},
                     %f: tensor<4xf32> {train.param = "f", train.frozen}) -> (tensor<f32> {train.loss}) {
  %a = train.mul %x, %f {layer = "scale"} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %b = train.add %a, %w {layer = "shift"} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %l = train.mse %b, %x {layer = "loss"} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK:      func.func @gradients(
// CHECK-SAME:   -> (tensor<f32> {train.loss}, tensor<4xf32> {train.gradient = 1 : i64}) {
// CHECK:        %db = train.mse_grad %b, %x {layer = "loss", role = "dx"}
// CHECK-NEXT:   %dw = train.reduce %db {layer = "shift", role = "dw"}
// CHECK-NEXT:   func.return %l, %dw

// -----

// A loss of a difference gives its target minus the gradient of its prediction; flags of an optimizer are units, and
// dampening reads the step count.

func.func @pair(%w: tensor<4xf32> {train.param = "w"}, %t: tensor<4xf32> {train.param = "t"})
    -> (tensor<f32> {train.loss}) attributes {train.optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.5 : f64, nesterov}} {
  %l = train.l1_loss %w, %t reduction "sum" {layer = "loss"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK:      func.func @pair(
// CHECK-SAME:   %w_momentum: tensor<4xf32> {train.state = "w.momentum", train.fill = 0.000000e+00 : f64}
// CHECK:        %dw = train.l1_loss_grad %w, %t reduction "sum" {layer = "loss", role = "dw"}
// CHECK-NEXT:   %dt = train.affine %dw scale -1.0 {layer = "loss", role = "dw"}
// CHECK-NEXT:   %w_new, %w_momentum_new = train.sgd %w, %dw, %w_momentum lr 0.5 momentum 0.5 nesterov {layer = "w", role = "update"}
// CHECK-NEXT:   %t_new, %t_momentum_new = train.sgd %t, %dt, %t_momentum lr 0.5 momentum 0.5 nesterov {layer = "t", role = "update"}

// -----

func.func @dampened(%w: tensor<4xf32> {train.param = "w"}, %x: tensor<4xf32> {train.input = "x"})
    -> (tensor<f32> {train.loss}) attributes {train.optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.5 : f64, dampening = 0.25 : f64}} {
  %l = train.dot_loss %w, %x {layer = "loss"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  func.return %l : tensor<f32>
}

// CHECK:      func.func @dampened(
// CHECK-SAME:   %step: tensor<i64> {train.state = "step", train.fill = 0.000000e+00 : f64}
// CHECK:        train.sgd %w, %x, %w_momentum, %step lr 0.5 momentum 0.5 dampening 0.25 {layer = "w", role = "update"}
// CHECK-NEXT:   train.increment %step
