// RUN: npuc opt %s | filecheck %s

func.func @operations(%x: tensor<6x10xf32>, %w: tensor<10x8xbf16>, %dy: tensor<6x8xf32>, %n: tensor<6xi64>) {
  %r0 = train.opaque %x, %w operator "acme.fuse" macs 480 vector 48 batch [0, -1, 0] grad_macs 960 grad_vector 96 : (tensor<6x10xf32>, tensor<10x8xbf16>) -> tensor<6x8xf32>
  // CHECK: %r0 = train.opaque %x, %w operator "acme.fuse" macs 480 vector 48 batch [0, -1, 0] grad_macs 960 grad_vector 96 : (tensor<6x10xf32>, tensor<10x8xbf16>) -> tensor<6x8xf32>
  %r1, %r2 = train.opaque %n operator "acme::sort-of" : (tensor<6xi64>) -> (tensor<6xi64>, tensor<6xf32>)
  // CHECK: %r1, %r2 = train.opaque %n operator "acme::sort-of" : (tensor<6xi64>) -> (tensor<6xi64>, tensor<6xf32>)
  %r3, %r4 = train.opaque_grad %x, %w, %dy operator "acme.fuse" macs 960 vector 96 batch [0, -1, 0, 0, -1] of [0, 1] : (tensor<6x10xf32>, tensor<10x8xbf16>, tensor<6x8xf32>) -> (tensor<6x10xf32>, tensor<10x8xbf16>)
  // CHECK: %r3, %r4 = train.opaque_grad %x, %w, %dy operator "acme.fuse" macs 960 vector 96 batch [0, -1, 0, 0, -1] of [0, 1] : (tensor<6x10xf32>, tensor<10x8xbf16>, tensor<6x8xf32>) -> (tensor<6x10xf32>, tensor<10x8xbf16>)
  func.return
}
