"""Passes and checks that meet what devices do together."""

import pytest

from npuc.compiler.driver.check import check_program, random_data
from npuc.compiler.driver.running.lower import lowered_source
from npuc.compiler.driver.running.options import RunKeywords, run_options
from npuc.dialects.distributed import DistOp
from npuc.dialects.provenance import is_recomputed, layer_of
from npuc.frontends.source import text_source

# Rows of a table for labels of which each device has a part and needs the whole.
LABELS = """
func.func @net(%i: tensor<4xi32> {train.input = "i", train.labels, dist.sharding = #dist.sharding<[[0]]>},
               %w: tensor<3x2xf64> {train.param = "w", dist.sharding = #dist.sharding<[[], [0]]>})
    -> (tensor<f64> {train.loss})
    attributes {dist.mesh = #dist.mesh<[2]>, train.optimizer = {kind = "sgd", lr = 0.5 : f64}} {
  %0 = dist.all_gather %i axis 0 over [0] {layer = "rows"} : (tensor<4xi32>) -> tensor<8xi32>
  %1 = train.embedding %0, %w {layer = "rows"} : (tensor<8xi32>, tensor<3x2xf64>) -> tensor<8x2xf64>
  %2 = train.dot_loss %1, %1 {layer = "loss"} : (tensor<8x2xf64>, tensor<8x2xf64>) -> tensor<f64>
  %3 = dist.all_reduce %2 over [0] {layer = "loss"} : (tensor<f64>) -> tensor<f64>
  func.return %3 : tensor<f64>
}
"""
DEEP = """
func.func @net(%x: tensor<4x4xf64> {train.input = "x", dist.sharding = #dist.sharding<[[0], []]>},
               %a: tensor<4x4xf64> {train.param = "a"}, %b: tensor<4x4xf64> {train.param = "b"})
    -> (tensor<f64> {train.loss}) attributes {dist.mesh = #dist.mesh<[2]>} {
  %a1 = dist.copy %a over [0] {layer = "a"} : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %0 = train.matmul %x, %a1 {layer = "a"} : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %1 = dist.all_to_all %0 split 1 concat 0 over [0] {layer = "a"} : (tensor<4x4xf64>) -> tensor<8x2xf64>
  %2 = train.relu %1 {layer = "r"} : (tensor<8x2xf64>) -> tensor<8x2xf64>
  %3 = dist.all_to_all %2 split 0 concat 1 over [0] {layer = "b"} : (tensor<8x2xf64>) -> tensor<4x4xf64>
  %b1 = dist.copy %b over [0] {layer = "b"} : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %4 = train.matmul %3, %b1 {layer = "b"} : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  %5 = train.relu %4 {layer = "s"} : (tensor<4x4xf64>) -> tensor<4x4xf64>
  %6 = train.dot_loss %5, %x {layer = "loss"} : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<f64>
  %7 = dist.all_reduce %6 over [0] {layer = "loss"} : (tensor<f64>) -> tensor<f64>
  func.return %7 : tensor<f64>
}
"""
PIPELINES = [
    "autodiff,recompute{policy=every-k k=3},lower-to-npu,schedule",
    "autodiff,cse,dce,canonicalize,lower-to-npu,interleave{mode=best},schedule",
    "autodiff,lower-to-npu,fuse-vector,schedule,lower-tiles",
    "autodiff,lower-to-npu,interleave{mode=zip},schedule,keep-resident,lower-tiles",
]


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("text", [LABELS, DEEP], ids=["labels", "deep"])
def test_passes_keep_what_a_program_on_devices_computes(text: str, pipeline: str) -> None:
    steps = check_program(text_source(text, "mlir", "net.mlir"), {"pipeline": pipeline})
    assert all(step.comparison.equal for step in steps)


def test_labels_are_in_range_where_devices_exchange_them() -> None:
    module = lowered_source(text_source(LABELS, "mlir", "net.mlir"), run_options({"level": "train"}))
    data = random_data(module, seed=0)
    assert data["i"].shape == (8,)
    assert set(data["i"].tolist()) == {0, 1, 2}


def test_work_is_computed_again_but_nothing_is_sent_again() -> None:
    options: RunKeywords = {"pipeline": "autodiff,recompute{policy=every-k k=3}"}
    module = lowered_source(text_source(DEEP, "mlir", "net.mlir"), run_options(options))
    again = [op for op in module.walk() if is_recomputed(op)]
    assert {layer_of(op) for op in again} >= {"r"}
    assert not [op for op in again if isinstance(op, DistOp) and op.name != "dist.copy"]
