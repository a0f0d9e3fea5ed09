// RUN: npuc opt %s -p "schedule-collectives{policy=themis-scf chunks=4}" | filecheck %s
// RUN: npuc opt %s -p "schedule-collectives{policy=exact chunks=2}" | filecheck %s --check-prefix=EXACT
// RUN: npuc opt %s -p "schedule-collectives{chunks=4}" | filecheck %s --check-prefix=BASE

// 4 x 4 devices, the inner level twice as fast (figure 5 of Themis): the second of four chunks takes the other way. What
// is no faster in chunks, here over one level, stays whole.

builtin.module attributes {dist.network = {latency = "overlap", levels = [
    {kind = "switch", size = 4 : i64, gb_per_s = 1.0 : f64, latency_ns = 0.0 : f64},
    {kind = "switch", size = 4 : i64, gb_per_s = 2.0 : f64, latency_ns = 0.0 : f64}]}} {
  func.func @step(%x: tensor<64xf32> {train.input = "x"}) -> (tensor<64xf32> {train.output = "y"})
      attributes {dist.mesh = #dist.mesh<[4, 4]>} {
    %0 = dist.all_reduce %x over [0, 1] : (tensor<64xf32>) -> tensor<64xf32>
    %1 = dist.all_reduce %0 over [1] : (tensor<64xf32>) -> tensor<64xf32>
    func.return %1 : tensor<64xf32>
  }
}

// CHECK:      dist.all_reduce %x over [0, 1] {dist.chunks = #dist.chunks<scf 1 x [1, 0], 1 x [0, 1], 2 x [1, 0]>}
// CHECK-NEXT: dist.all_reduce %0 over [1] : (tensor<64xf32>) -> tensor<64xf32>

// EXACT:      dist.all_reduce %x over [0, 1] {dist.chunks = #dist.chunks<listed [{{[01, ]+}}] {{[12]}} x

// BASE:       dist.all_reduce %x over [0, 1] {dist.chunks = #dist.chunks<fifo 4 x [1, 0]>}
// BASE-NEXT:  dist.all_reduce %0 over [1] : (tensor<64xf32>) -> tensor<64xf32>
