"""A batch normalisation and a dropout whose batch is cut over six devices: the training step of one device."""

import numpy as np
import pytest

from npuc.compiler.driver.run import run_source
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.interpreter.execute import Run

ARGUMENTS = """
    %w: tensor<4xf64> {train.param = "w", train.bound = 1.0 : f64},
    %g: tensor<3xf64> {train.param = "g", train.bound = 1.0 : f64},
    %b: tensor<3xf64> {train.param = "b", train.bound = 1.0 : f64},
    %rm: tensor<3xf64> {train.stat = "rm", train.fill = 0.0 : f64},
    %rv: tensor<3xf64> {train.stat = "rv", train.fill = 1.0 : f64})
    -> (tensor<f64> {train.loss}, tensor<3xf64> {train.updates = 6 : i64}, tensor<3xf64> {train.updates = 7 : i64})"""
OPTIMIZER = 'train.optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.5 : f64}'
AVERAGES = """
  %nm = train.ema %rm, %m {layer = "bn", role = "update"} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %nv = train.ema %rv, %v scale 1.5 {layer = "bn", role = "update"} : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>"""

ONE = f"""
func.func @net(%x: tensor<12x3x4xf64> {{train.input = "x"}}, %t: tensor<12x3x4xf64> {{train.input = "t"}},
    %s: tensor<i32> {{train.input = "s"}}, {ARGUMENTS} attributes {{{OPTIMIZER}}} {{
  %0 = train.mul %x, %w {{layer = "mul"}} : (tensor<12x3x4xf64>, tensor<4xf64>) -> tensor<12x3x4xf64>
  %y, %m, %v = train.batch_norm %0, %g, %b eps 0.1 {{layer = "bn"}}
    : (tensor<12x3x4xf64>, tensor<3xf64>, tensor<3xf64>) -> (tensor<12x3x4xf64>, tensor<3xf64>, tensor<3xf64>)
  %d = train.dropout %y, %s p 0.3 seed 2 {{layer = "drop"}} : (tensor<12x3x4xf64>, tensor<i32>) -> tensor<12x3x4xf64>
  %l = train.mse %d, %t {{layer = "l"}} : (tensor<12x3x4xf64>, tensor<12x3x4xf64>) -> tensor<f64>{AVERAGES}
  func.return %l, %nm, %nv : tensor<f64>, tensor<3xf64>, tensor<3xf64>
}}
"""

CUT = "dist.sharding = #dist.sharding<[[0, 1], [], []]>"
SIX = f"""
func.func @net(%x: tensor<2x3x4xf64> {{train.input = "x", {CUT}}}, %t: tensor<2x3x4xf64> {{train.input = "t", {CUT}}},
    %s: tensor<i32> {{train.input = "s"}}, {ARGUMENTS}
    attributes {{dist.mesh = #dist.mesh<[2, 3]>, {OPTIMIZER}}} {{
  %cw = dist.copy %w over [0, 1] {{layer = "mul"}} : (tensor<4xf64>) -> tensor<4xf64>
  %0 = train.mul %x, %cw {{layer = "mul"}} : (tensor<2x3x4xf64>, tensor<4xf64>) -> tensor<2x3x4xf64>
  %pm = train.channel_mean %0 {{layer = "bn"}} : (tensor<2x3x4xf64>) -> tensor<3xf64>
  %m = dist.all_reduce %pm over [0, 1] mean {{layer = "bn"}} : (tensor<3xf64>) -> tensor<3xf64>
  %known = train.detach %m {{layer = "bn"}} : (tensor<3xf64>) -> tensor<3xf64>
  %ck = dist.copy %known over [0, 1] {{layer = "bn"}} : (tensor<3xf64>) -> tensor<3xf64>
  %pv = train.channel_var %0, %ck {{layer = "bn"}} : (tensor<2x3x4xf64>, tensor<3xf64>) -> tensor<3xf64>
  %v = dist.all_reduce %pv over [0, 1] mean {{layer = "bn"}} : (tensor<3xf64>) -> tensor<3xf64>
  %cg = dist.copy %g over [0, 1] {{layer = "bn"}} : (tensor<3xf64>) -> tensor<3xf64>
  %cb = dist.copy %b over [0, 1] {{layer = "bn"}} : (tensor<3xf64>) -> tensor<3xf64>
  %cm = dist.copy %m over [0, 1] {{layer = "bn"}} : (tensor<3xf64>) -> tensor<3xf64>
  %cv = dist.copy %v over [0, 1] {{layer = "bn"}} : (tensor<3xf64>) -> tensor<3xf64>
  %y = train.normalize %0, %cg, %cb, %cm, %cv eps 0.1 {{layer = "bn"}}
    : (tensor<2x3x4xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3x4xf64>
  %all = train.arange {{layer = "drop"}} : () -> tensor<12xi32>
  %half = dist.slice %all axis 0 over [0] {{layer = "drop"}} : (tensor<12xi32>) -> tensor<6xi32>
  %own = dist.slice %half axis 0 over [1] within [0] {{layer = "drop"}} : (tensor<6xi32>) -> tensor<2xi32>
  %rows = train.reshape %own {{layer = "drop"}} : (tensor<2xi32>) -> tensor<2x1x1xi32>
  %d = train.dropout %y, %s, %rows p 0.3 seed 2 axes [0] of [12, 3, 4] {{layer = "drop"}}
    : (tensor<2x3x4xf64>, tensor<i32>, tensor<2x1x1xi32>) -> tensor<2x3x4xf64>
  %pl = train.mse %d, %t {{layer = "l"}} : (tensor<2x3x4xf64>, tensor<2x3x4xf64>) -> tensor<f64>
  %l = dist.all_reduce %pl over [0, 1] mean {{layer = "l"}} : (tensor<f64>) -> tensor<f64>{AVERAGES}
  func.return %l, %nm, %nv : tensor<f64>, tensor<3xf64>, tensor<3xf64>
}}
"""


def _run(text: str, lowering: str = "") -> Run:
    random = np.random.default_rng(1)
    x, t = random.uniform(-1, 1, (2, 12, 3, 4))
    inputs = {"x": x, "t": t, "s": np.array(4)}
    return run_source(text, format="mlir", inputs=inputs, dtype="float64", pipeline=f"autodiff{lowering}", steps=2)


@pytest.mark.parametrize("lowering", ["", ",lower-to-npu,schedule,lower-tiles"])
def test_six_devices_compute_the_step_of_one(lowering: str) -> None:
    one, six = _run(ONE), _run(SIX, lowering)
    for group in ("params", "gradients", "updated"):
        before, after = getattr(one, group), getattr(six, group)
        assert before.keys() == after.keys()
        assert compare(before, after).equal, (group, compare(before, after))
    assert compare({"losses": np.array(one.losses)}, {"losses": np.array(six.losses)}).equal
    assert {"g", "b", "w", "rm", "rv"} <= set(six.updated)


def test_what_moves_are_statistics_gradients_of_vectors_and_the_loss() -> None:
    """Six devices read D (P - 1) / P of a summed tensor's elements, at both levels together five times as many."""
    traffic = _run(SIX).traffic
    assert traffic is not None
    forward = {"bn": 3 + 3, "l": 1}
    backward = {"bn": 4 * 3, "mul": 4}
    moved = {layer: sum(row.elements for row in traffic.rows if row.layer == layer) for layer in ("bn", "mul", "l")}
    assert moved == {layer: 5 * (forward.get(layer, 0) + backward.get(layer, 0)) for layer in moved}
    assert {row.op for row in traffic.rows if row.elements} == {"dist.all_reduce"}
