// RUN: npuc opt -p "parallelize{strategy=joint devices=2 convention=table2}" %s | filecheck %s
// RUN: npuc opt -p "parallelize{strategy=joint devices=4 convention=table2}" %s | filecheck %s --check-prefix=TWO
// RUN: npuc opt -p "parallelize{strategy=joint devices=4 convention=physical}" %s | filecheck %s --check-prefix=CUTS

// One layer along the batch, the next along its input channels: 1,024 for dW, 512 between, 64 for the output.

func.func @net(
  %x: tensor<8x8xf32> {train.input = "x"},
  %t: tensor<8x8xf32> {train.input = "t"},
  %w0: tensor<8x128xf32> {train.param = "w0"},
  %w1: tensor<128x8xf32> {train.param = "w1"}
) -> (tensor<f32> {train.loss})
{
  %0 = train.matmul %x, %w0 {layer = "fc1"} : (tensor<8x8xf32>, tensor<8x128xf32>) -> tensor<8x128xf32>
  %1 = train.matmul %0, %w1 {layer = "fc2"} : (tensor<8x128xf32>, tensor<128x8xf32>) -> tensor<8x8xf32>
  %2 = train.dot_loss %1, %t {layer = "loss"} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<f32>
  func.return %2 : tensor<f32>
}

// CHECK: func.func @net(%x: tensor<4x8xf32> {train.input = "x", dist.sharding = #dist.sharding<[[0], []]>},
// CHECK-SAME: %t: tensor<8x8xf32> {train.input = "t"}, %w0: tensor<8x128xf32> {train.param = "w0"},
// CHECK-SAME: %w1: tensor<64x8xf32> {train.param = "w1", dist.sharding = #dist.sharding<[[0], []]>})
// CHECK-SAME: dist.mesh = #dist.mesh<[2]>
// CHECK-SAME: dist.plan = {strategy = "joint", convention = "table2", layers = {fc1 = "I", fc2 = "II"}, elements = "1600", bytes = "6400", bound = "1600"}
// CHECK-NEXT: %0 = dist.copy %w0 over [0] {layer = "fc1"} : (tensor<8x128xf32>) -> tensor<8x128xf32>
// CHECK-NEXT: %1 = train.matmul %x, %0 {layer = "fc1"} : (tensor<4x8xf32>, tensor<8x128xf32>) -> tensor<4x128xf32>
// CHECK-NEXT: %2 = dist.all_to_all %1 split 1 concat 0 over [0] {layer = "fc2"} : (tensor<4x128xf32>) -> tensor<8x64xf32>
// CHECK-NEXT: %3 = train.matmul %2, %w1 {layer = "fc2"} : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %4 = dist.all_reduce %3 over [0] {layer = "fc2"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %5 = train.dot_loss %4, %t {layer = "loss"}
// CHECK-NEXT: func.return %5 : tensor<f32>

// Two levels. Where both cut an axis, movement at one of them says so.

// TWO: func.func @net(%x: tensor<4x4xf32> {train.input = "x", dist.sharding = #dist.sharding<[[0], [1]]>},
// TWO-SAME: %w1: tensor<32x8xf32> {train.param = "w1", dist.sharding = #dist.sharding<[[0, 1], []]>})
// TWO-SAME: dist.mesh = #dist.mesh<[2, 2]>
// TWO-SAME: layers = {fc1 = "I II", fc2 = "II II"}, elements = "1600 832", bytes = "13056", bound = "3264"}
// TWO-NEXT: %0 = dist.copy %w0 over [0] {layer = "fc1"} : (tensor<4x128xf32>) -> tensor<4x128xf32>
// TWO-NEXT: %1 = train.matmul %x, %0 {layer = "fc1"} : (tensor<4x4xf32>, tensor<4x128xf32>) -> tensor<4x128xf32>
// TWO-NEXT: %2 = dist.all_reduce %1 over [1] {layer = "fc1"} : (tensor<4x128xf32>) -> tensor<4x128xf32>
// TWO-NEXT: %3 = dist.slice %2 axis 1 over [1] {layer = "fc2"} : (tensor<4x128xf32>) -> tensor<4x64xf32>
// TWO-NEXT: %4 = dist.all_to_all %3 split 1 concat 0 over [0] split_within [1] {layer = "fc2"} : (tensor<4x64xf32>) -> tensor<8x32xf32>
// TWO-NEXT: %5 = train.matmul %4, %w1 {layer = "fc2"} : (tensor<8x32xf32>, tensor<32x8xf32>) -> tensor<8x8xf32>
// TWO-NEXT: %6 = dist.all_reduce %5 over [0, 1] {layer = "fc2"} : (tensor<8x8xf32>) -> tensor<8x8xf32>

// A value that a layer and an addition read is summed once; the layer takes its part of it.

func.func @residual(
  %x: tensor<8x16xf32> {train.input = "x"},
  %t: tensor<8x16xf32> {train.input = "t"},
  %w0: tensor<16x16xf32> {train.param = "w0"},
  %w1: tensor<16x16xf32> {train.param = "w1"}
) -> (tensor<f32> {train.loss})
{
  %0 = train.matmul %x, %w0 {layer = "fc1"} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %1 = train.matmul %0, %w1 {layer = "fc2"} : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %2 = train.add %0, %1 {layer = "sum"} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %3 = train.dot_loss %2, %t {layer = "loss"} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<f32>
  func.return %3 : tensor<f32>
}
// CHECK: func.func @residual(
// CHECK-SAME: layers = {fc1 = "II", fc2 = "II"}, elements = "320", bytes = "1280", bound = "320"}
// CHECK-NEXT: %0 = train.matmul %x, %w0 {layer = "fc1"} : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT: %1 = dist.all_reduce %0 over [0] {layer = "fc1"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT: %2 = dist.slice %1 axis 1 over [0] {layer = "fc2"} : (tensor<8x16xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %3 = train.matmul %2, %w1 {layer = "fc2"} : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT: %4 = dist.all_reduce %3 over [0] {layer = "fc2"} : (tensor<8x16xf32>) -> tensor<8x16xf32>
// CHECK-NEXT: %5 = train.add %1, %4 {layer = "sum"} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>

// TWO: func.func @residual(
// TWO-SAME: layers = {fc1 = "I II", fc2 = "I II"}, elements = "512 160", bytes = "3328", bound = "832"}
// TWO: dist.all_reduce %8 over [0] {layer = "loss"} : (tensor<f32>) -> tensor<f32>

// What the program moves is least with columns of the first layer and rows of the second on each device.

// CUTS: func.func @net(%x: tensor<8x8xf32> {train.input = "x"}, %t: tensor<8x8xf32> {train.input = "t"},
// CUTS-SAME: %w0: tensor<8x32xf32> {train.param = "w0", dist.sharding = #dist.sharding<[[], [0, 1]]>},
// CUTS-SAME: %w1: tensor<32x8xf32> {train.param = "w1", dist.sharding = #dist.sharding<[[0, 1], []]>})
// CUTS-SAME: layers = {fc1 = "III III", fc2 = "II II"}, elements = "64 64", bytes = "768", bound = "192"}
// CUTS-NEXT: %0 = train.matmul %x, %w0 {layer = "fc1"} : (tensor<8x8xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
// CUTS-NEXT: %1 = train.matmul %0, %w1 {layer = "fc2"} : (tensor<8x32xf32>, tensor<32x8xf32>) -> tensor<8x8xf32>
// CUTS-NEXT: %2 = dist.all_reduce %1 over [0, 1] {layer = "fc2"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CUTS-NEXT: %3 = train.dot_loss %2, %t {layer = "loss"}
// CUTS: func.func @residual(
// CUTS-SAME: layers = {fc1 = "III III", fc2 = "II III"}, elements = "128 65", bytes = "1032", bound = "258"}
