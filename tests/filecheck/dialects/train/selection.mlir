// RUN: npuc opt %s | filecheck %s

// Selection by values: the text that prints is the text that was read.

func.func @operations(%x: tensor<4x6xf32>, %b: tensor<2x6x4xf32>, %s: tensor<2x3x6xf32>) {
  %p0 = train.nonzero %x size 5 : (tensor<4x6xf32>) -> tensor<5x2xi32>
  // CHECK: %p0 = train.nonzero %x size 5 : (tensor<4x6xf32>) -> tensor<5x2xi32>
  %p1 = train.nms %b, %s size 4 iou 0.5 most 2 least 0.25 centered : (tensor<2x6x4xf32>, tensor<2x3x6xf32>) -> tensor<4x3xi32>
  // CHECK: %p1 = train.nms %b, %s size 4 iou {{.*}} most 2 least {{.*}} centered : (tensor<2x6x4xf32>, tensor<2x3x6xf32>) -> tensor<4x3xi32>
  func.return
}
