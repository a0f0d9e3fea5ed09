// RUN: npuc opt %s -p canonicalize | filecheck %s

// CHECK-LABEL: @identities
// CHECK-NEXT:    %y = train.relu %x {layer = "a"}
// CHECK-NEXT:    func.return %y : tensor<4x6xf32>
func.func @identities(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %y = train.relu %x {layer = "a"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = train.affine %y {layer = "b"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = train.relu %0 {layer = "c"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = train.reshape %1 {layer = "d"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = train.max %2, %2 {layer = "e"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = train.flip %3 axes [1] {layer = "f"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = train.flip %4 axes [1] {layer = "f"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %6, %7 = train.split %5 sizes [2, 4] axis 1 {layer = "g"} : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x4xf32>)
  %8 = train.concat %6, %7 axis 1 {layer = "g"} : (tensor<4x2xf32>, tensor<4x4xf32>) -> tensor<4x6xf32>
  func.return %8 : tensor<4x6xf32>
}

// The second of two has the layer; a narrowing cast stays.
// CHECK-LABEL: @pairs
// CHECK-NEXT:    train.transpose %x axes [2, 1, 0] {layer = "second"}
// CHECK-NEXT:    train.cast %x {layer = "narrow"}
// CHECK-NEXT:    train.cast {{.*}} {layer = "wide"}
// CHECK-NEXT:    train.slice %x starts [0, 3, 0] steps [1, 2, 1] {layer = "part"}
func.func @pairs(%x: tensor<4x6x8xf32>, %h: tensor<4xbf16>) -> (tensor<8x6x4xf32>, tensor<4x6x8xf32>, tensor<4xbf16>, tensor<4x1x8xf32>) {
  %0 = train.transpose %x axes [1, 2, 0] {layer = "first"} : (tensor<4x6x8xf32>) -> tensor<6x8x4xf32>
  %1 = train.transpose %0 axes [1, 0, 2] {layer = "second"} : (tensor<6x8x4xf32>) -> tensor<8x6x4xf32>
  %2 = train.cast %x {layer = "narrow"} : (tensor<4x6x8xf32>) -> tensor<4x6x8xbf16>
  %3 = train.cast %2 {layer = "wide"} : (tensor<4x6x8xbf16>) -> tensor<4x6x8xf32>
  %4 = train.cast %h {layer = "wide"} : (tensor<4xbf16>) -> tensor<4xf32>
  %5 = train.cast %4 {layer = "back"} : (tensor<4xf32>) -> tensor<4xbf16>
  %6 = train.slice %x starts [0, 1, 0] steps [1, 2, 1] {layer = "odd"} : (tensor<4x6x8xf32>) -> tensor<4x3x8xf32>
  %7 = train.slice %6 starts [0, 1, 0] {layer = "part"} : (tensor<4x3x8xf32>) -> tensor<4x1x8xf32>
  func.return %1, %3, %5, %7 : tensor<8x6x4xf32>, tensor<4x6x8xf32>, tensor<4xbf16>, tensor<4x1x8xf32>
}

// One of two that compute the same, none that nobody reads; what is recomputed stays apart, and an update stays.
// CHECK-LABEL: @common
// CHECK-NEXT:    [[H:%.+]] = train.exp %x {layer = "a"}
// CHECK-NEXT:    [[AGAIN:%.+]] = train.exp %x {layer = "a", recompute}
// CHECK-NEXT:    [[SUM:%.+]] = train.add [[H]], [[H]] {layer = "d"}
// CHECK-NEXT:    train.add [[SUM]], [[AGAIN]] {layer = "e"}
// CHECK-NEXT:    train.sgd %w, %x lr 1.0 {layer = "w", role = "update"}
func.func @common(%x: tensor<4xf32>, %w: tensor<4xf32> {train.param = "w"}) -> (tensor<4xf32>, tensor<4xf32> {train.updates = 1 : i64}) {
  %0 = train.exp %x {layer = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = train.exp %x {layer = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = train.exp %x {layer = "a", recompute} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = train.exp %2 {layer = "unread"} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = train.add %0, %1 {layer = "d"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = train.add %4, %2 {layer = "e"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = train.sgd %w, %x lr 1.0 {layer = "w", role = "update"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %5, %6 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @constants
// CHECK-NEXT:    %0 = train.constant value 3.0 {layer = "b"} : () -> tensor<4xf32>
// CHECK-NEXT:    func.return %0
func.func @constants() -> tensor<4xf32> {
  %0 = train.constant value 2.0 {layer = "a"} : () -> tensor<4xf32>
  %1 = train.affine %0 offset 1.0 {layer = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// A number that its type would round stays as it is written; integers wrap around.
// CHECK-LABEL: @limits
// CHECK-NEXT:    %0 = train.constant value 0.1 {layer = "a"} : () -> tensor<4xbf16>
// CHECK-NEXT:    %1 = train.affine %0 offset 1.0 {layer = "b"} : (tensor<4xbf16>) -> tensor<4xbf16>
// CHECK-NEXT:    %2 = train.constant value -56.0 {layer = "d"} : () -> tensor<4xi8>
// CHECK-NEXT:    func.return %1, %2
func.func @limits() -> (tensor<4xbf16>, tensor<4xi8>) {
  %0 = train.constant value 0.1 {layer = "a"} : () -> tensor<4xbf16>
  %1 = train.affine %0 offset 1.0 {layer = "b"} : (tensor<4xbf16>) -> tensor<4xbf16>
  %2 = train.constant value 100.0 {layer = "c"} : () -> tensor<4xi8>
  %3 = train.affine %2 scale 2.0 {layer = "d"} : (tensor<4xi8>) -> tensor<4xi8>
  func.return %1, %3 : tensor<4xbf16>, tensor<4xi8>
}
