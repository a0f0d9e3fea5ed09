// RUN: npuc opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.slice %a axis 2 over [0] : (tensor<12x12xf32>) -> tensor<6x12xf32>
  // CHECK: axis is 2, the tensor has 2 axes
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.slice %a axis -1 over [0] : (tensor<12x12xf32>) -> tensor<6x12xf32>
  // CHECK: axis is -1, the tensor has 2 axes
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.slice %a axis 0 over [2] : (tensor<12x12xf32>) -> tensor<6x12xf32>
  // CHECK: over has level 2, the mesh has levels 0 to 1
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.slice %a axis 0 over [0, 1] : (tensor<12x12xf32>) -> tensor<2x12xf32>
  // CHECK: over is [0, 1], expected one level
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.slice %a axis 0 over [0] within [0] : (tensor<12x12xf32>) -> tensor<6x12xf32>
  // CHECK: within has level 0, which the operation works over
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.slice %a axis 0 over [0] within [7] : (tensor<12x12xf32>) -> tensor<6x12xf32>
  // CHECK: within has level 7, the mesh has levels 0 to 1
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.slice %a axis 0 over [0] : (tensor<12x12xf32>) -> tensor<4x12xf32>
  // CHECK: expected result tensor<6x12xf32>, got tensor<4x12xf32>
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.slice %a axis 0 over [0] : (tensor<12x12xf32>) -> tensor<6x12xf64>
  // CHECK: element types differ: f32 and f64
  func.return
}

// -----

func.func @f(%a: tensor<4x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.slice %a axis 0 over [0] : (tensor<4x12xf32>) -> tensor<2x12xf32>
  // CHECK: axis 0 has size 4, expected a multiple of 6, the parts of all levels that do not cut it
  func.return
}

// -----

func.func @f(%a: tensor<4x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_gather %a axis 0 over [0] : (tensor<4x12xf32>) -> tensor<8x12xf32>
  // CHECK: axis 0 has size 4, expected a multiple of 3, the parts of all levels that do not cut it
  func.return
}

// -----

func.func @f(%a: tensor<4x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_gather %a axis 0 over [0] within [1] : (tensor<4x12xf32>) -> tensor<4x12xf32>
  // CHECK: expected result tensor<8x12xf32>, got tensor<4x12xf32>
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_gather %a axis 0 over [] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: over is [], expected one level
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_gather %a axis 5 over [0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: axis is 5, the tensor has 2 axes
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_to_all %a split 1 concat 1 over [0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: split and concat are both 1, expected two axes
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_to_all %a split 2 concat 1 over [0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: split is 2, the tensor has 2 axes
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_to_all %a split 0 concat 3 over [0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: concat is 3, the tensor has 2 axes
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_to_all %a split 0 concat 1 over [1] split_within [1] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: split_within has level 1, which the operation works over
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_to_all %a split 0 concat 1 over [1] concat_within [1] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: concat_within has level 1, which the operation works over
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_to_all %a split 0 concat 1 over [1] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: expected result tensor<4x36xf32>, got tensor<12x12xf32>
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_reduce %a over [1, 0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: over is [1, 0], expected ascending levels
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_reduce %a over [0, 0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: over is [0, 0], expected ascending levels
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_reduce %a over [] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: over is [], expected one level or more
  func.return
}

// -----

func.func @f(%a: tensor<2xi1>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_reduce %a over [0] : (tensor<2xi1>) -> tensor<2xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<2xi32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_reduce %a over [0] mean : (tensor<2xi32>) -> tensor<2xi32>
  // CHECK: elements are i32, expected floating point: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<6xi1>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.reduce_scatter %a axis 0 over [0] : (tensor<6xi1>) -> tensor<3xi1>
  // CHECK: elements are bool, expected numbers: cast them first
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.copy %a over [3] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: over has level 3, the mesh has levels 0 to 1
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.copy %a over [0] : (tensor<12x12xf32>) -> tensor<6x12xf32>
  // CHECK: expected result tensor<12x12xf32>, got tensor<6x12xf32>
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.send_receive %a source [0] target [1, 2] over [1] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: 1 parts send and 2 receive, expected as many
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.send_receive %a source [0] target [3] over [1] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: target has part 3, the level has parts 0 to 2
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.send_receive %a source [0, 0] target [1, 2] over [1] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: source is [0, 0], expected each part once at most
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) {
  %r = dist.copy %a over [0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: stands in a function on one device, expected one with dist.mesh = #dist.mesh<[…]>
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>, %n: index) attributes {dist.mesh = #dist.mesh<[2]>} {
  scf.for %i = %n to %n step %n {
    %r = dist.copy %a over [0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
    // CHECK: stands inside scf.for, expected in the body of a function: all devices do it together
  }
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_reduce %a over [0, 1] {dist.chunks = #dist.chunks<fifo 2 x [1, 0], 1 x [1]>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: dist.chunks: a chunk crosses the levels [1], expected each of [0, 1] once
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.copy %a over [0] {dist.chunks = #dist.chunks<fifo 2 x [0]>} : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: has dist.chunks, expected it on collectives only
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_reduce %a over [0] {dist.chunks = 3 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: dist.chunks is 3 : i64, expected #dist.chunks<…>
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_reduce %a over [0] {dist.bucket = 0 : i64} : (tensor<12x12xf32>) -> tensor<12x12xf32>
  // CHECK: dist.bucket is 0 : i64, expected an integer from 1 on
  func.return
}

// -----

func.func @f(%a: tensor<12x12xf32>) attributes {dist.mesh = #dist.mesh<[2, 3]>} {
  %r = dist.all_gather %a axis 0 over [0] {dist.bucket = 1 : i64} : (tensor<12x12xf32>) -> tensor<24x12xf32>
  // CHECK: has dist.bucket, expected it on sums only: all_reduce and reduce_scatter
  func.return
}
