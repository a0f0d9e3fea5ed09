// RUN: npuc opt %s -p "set-precision{to=mixed}" --split-input-file | filecheck %s
// RUN: npuc opt %s -p "set-precision{to=mixed},autodiff" --split-input-file | filecheck %s --check-prefix=STEP
// RUN: npuc opt %s -p "set-precision{to=bf16}" --split-input-file | filecheck %s --check-prefix=BF16

// A parameter is cast once for all its uses, under its own name; its gradient is cast back for the optimizer.

func.func @shared(%x: tensor<4x4xf32> {train.input = "x"}, %w: tensor<4x4xf32> {train.param = "fc.weight"},
                  %t: tensor<4x4xf32> {train.input = "t"}, %n: tensor<4xi32> {train.input = "n"})
    -> (tensor<f32> {train.loss}, tensor<4xi32> {train.output = "n"})
    attributes {train.optimizer = {kind = "sgd", lr = 0.5 : f64}} {
  %h = train.matmul %x, %w {layer = "fc"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = train.softmax %h {layer = "p"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = train.matmul %p, %w {layer = "fc2"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = train.relu %y {layer = "r"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %l = train.dot_loss %r, %t {layer = "loss"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>
  func.return %l, %n : tensor<f32>, tensor<4xi32>
}

// CHECK:      func.func @shared(%x: tensor<4x4xf32> {train.input = "x"}, %w: tensor<4x4xf32>
// CHECK-NEXT:   %x_bf16 = train.cast %x {layer = "fc"} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-NEXT:   %w_bf16 = train.cast %w {layer = "fc.weight"} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-NEXT:   %h = train.matmul %x_bf16, %w_bf16 {layer = "fc"} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK-NEXT:   %h_f32 = train.cast %h {layer = "p"} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK-NEXT:   %p = train.softmax %h_f32 {layer = "p"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT:   %p_bf16 = train.cast %p {layer = "fc2"} : (tensor<4x4xf32>) -> tensor<4x4xbf16>
// CHECK-NEXT:   %y = train.matmul %p_bf16, %w_bf16 {layer = "fc2"}
// CHECK-NEXT:   %r = train.relu %y {layer = "r"} : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
// CHECK-NEXT:   %r_f32 = train.cast %r {layer = "loss"} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// CHECK-NEXT:   train.dot_loss %r_f32, %t {layer = "loss"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>
// STEP:         %[[sum:.+]] = train.add {{.+}} {layer = "fc", role = "dw"} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
// STEP-NEXT:    %dw = train.cast %[[sum]] {layer = "fc.weight", role = "dw"} : (tensor<4x4xbf16>) -> tensor<4x4xf32>
// STEP:         train.sgd %w, %dw
// BF16-NOT:     train.cast
// BF16-NOT:     f32>
// BF16:         %n: tensor<4xi32>
