"""Programs on two devices, written by hand: the same numbers as on one, and the elements that have to move."""

from fractions import Fraction

import numpy as np
import pytest

from npuc.compiler.core.errors import SourceError
from npuc.compiler.driver.check import check_program
from npuc.compiler.driver.run import describe_source, run_source
from npuc.compiler.interpreter.compare import compare
from npuc.compiler.interpreter.execute import Run
from npuc.frontends.source import text_source

ROWS = "#dist.sharding<[[0], []]>"

# Two layers, the first cut along the batch and the second along its input channels; the loss gradient is given.
ONE = """
func.func @step(%x: tensor<8x8xf64> {train.input = "x"}, %w0: tensor<8x16xf64> {train.input = "w0"},
                %w1: tensor<16x8xf64> {train.input = "w1"}, %e: tensor<8x8xf64> {train.input = "e"})
    -> (tensor<8x8xf64> {train.output = "y"}, tensor<8x16xf64> {train.output = "dw0"},
        tensor<16x8xf64> {train.output = "dw1"}) {
  %0 = train.matmul %x, %w0 {layer = "fc1"} : (tensor<8x8xf64>, tensor<8x16xf64>) -> tensor<8x16xf64>
  %2 = train.matmul %0, %w1 {layer = "fc2"} : (tensor<8x16xf64>, tensor<16x8xf64>) -> tensor<8x8xf64>
  %4 = train.matmul %0 t, %e {layer = "fc2"} : (tensor<8x16xf64>, tensor<8x8xf64>) -> tensor<16x8xf64>
  %5 = train.matmul %e, %w1 t {layer = "fc2"} : (tensor<8x8xf64>, tensor<16x8xf64>) -> tensor<8x16xf64>
  %7 = train.matmul %x t, %5 {layer = "fc1"} : (tensor<8x8xf64>, tensor<8x16xf64>) -> tensor<8x16xf64>
  func.return %2, %7, %4 : tensor<8x8xf64>, tensor<8x16xf64>, tensor<16x8xf64>
}
"""
TWO = f"""
func.func @step(%x: tensor<4x8xf64> {{train.input = "x", dist.sharding = {ROWS}}},
                %w0: tensor<8x16xf64> {{train.input = "w0"}},
                %w1: tensor<8x8xf64> {{train.input = "w1", dist.sharding = {ROWS}}},
                %e: tensor<8x8xf64> {{train.input = "e"}})
    -> (tensor<8x8xf64> {{train.output = "y"}}, tensor<8x16xf64> {{train.output = "dw0"}},
        tensor<8x8xf64> {{train.output = "dw1", dist.sharding = {ROWS}}})
    attributes {{dist.mesh = #dist.mesh<[2]>}} {{
  %0 = train.matmul %x, %w0 {{layer = "fc1"}} : (tensor<4x8xf64>, tensor<8x16xf64>) -> tensor<4x16xf64>
  %1 = dist.all_to_all %0 split 1 concat 0 over [0] {{layer = "fc2"}} : (tensor<4x16xf64>) -> tensor<8x8xf64>
  %2 = train.matmul %1, %w1 {{layer = "fc2"}} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %3 = dist.all_reduce %2 over [0] {{layer = "fc2"}} : (tensor<8x8xf64>) -> tensor<8x8xf64>
  %4 = train.matmul %1 t, %e {{layer = "fc2"}} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %5 = train.matmul %e, %w1 t {{layer = "fc2"}} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %6 = dist.all_to_all %5 split 0 concat 1 over [0] {{layer = "fc2", role = "dx"}}
       : (tensor<8x8xf64>) -> tensor<4x16xf64>
  %7 = train.matmul %x t, %6 {{layer = "fc1"}} : (tensor<4x8xf64>, tensor<4x16xf64>) -> tensor<8x16xf64>
  %8 = dist.all_reduce %7 over [0] {{layer = "fc1", role = "dw"}} : (tensor<8x16xf64>) -> tensor<8x16xf64>
  func.return %3, %8, %4 : tensor<8x8xf64>, tensor<8x16xf64>, tensor<8x8xf64>
}}
"""

# The same two layers with a loss, before autodiff; the parameters are trained with momentum.
NETWORK = """
func.func @net(%x: tensor<8x8xf64> {train.input = "x"}, %t: tensor<8x8xf64> {train.input = "t"},
               %w0: tensor<8x16xf64> {train.param = "w0", train.bound = 1.0 : f64},
               %w1: tensor<16x8xf64> {train.param = "w1", train.bound = 1.0 : f64})
    -> (tensor<f64> {train.loss}, tensor<8x16xf64> {train.output = "h"})
    attributes {train.optimizer = {kind = "sgd", lr = 0.5 : f64, momentum = 0.5 : f64}} {
  %0 = train.matmul %x, %w0 {layer = "fc1"} : (tensor<8x8xf64>, tensor<8x16xf64>) -> tensor<8x16xf64>
  %1 = train.relu %0 {layer = "relu"} : (tensor<8x16xf64>) -> tensor<8x16xf64>
  %2 = train.matmul %1, %w1 {layer = "fc2"} : (tensor<8x16xf64>, tensor<16x8xf64>) -> tensor<8x8xf64>
  %l = train.dot_loss %2, %t {layer = "l"} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<f64>
  func.return %l, %1 : tensor<f64>, tensor<8x16xf64>
}
"""
SPREAD = f"""
func.func @net(%x: tensor<4x8xf64> {{train.input = "x", dist.sharding = {ROWS}}},
               %t: tensor<8x8xf64> {{train.input = "t"}},
               %w0: tensor<8x16xf64> {{train.param = "w0", train.bound = 1.0 : f64}},
               %w1: tensor<8x8xf64> {{train.param = "w1", train.bound = 1.0 : f64, dist.sharding = {ROWS}}})
    -> (tensor<f64> {{train.loss}}, tensor<4x16xf64> {{train.output = "h", dist.sharding = {ROWS}}})
    attributes {{dist.mesh = #dist.mesh<[2]>,
                train.optimizer = {{kind = "sgd", lr = 0.5 : f64, momentum = 0.5 : f64}}}} {{
  %c = dist.copy %w0 over [0] {{layer = "fc1"}} : (tensor<8x16xf64>) -> tensor<8x16xf64>
  %0 = train.matmul %x, %c {{layer = "fc1"}} : (tensor<4x8xf64>, tensor<8x16xf64>) -> tensor<4x16xf64>
  %1 = train.relu %0 {{layer = "relu"}} : (tensor<4x16xf64>) -> tensor<4x16xf64>
  %s = dist.all_to_all %1 split 1 concat 0 over [0] {{layer = "fc2"}} : (tensor<4x16xf64>) -> tensor<8x8xf64>
  %2 = train.matmul %s, %w1 {{layer = "fc2"}} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %3 = dist.all_reduce %2 over [0] {{layer = "fc2"}} : (tensor<8x8xf64>) -> tensor<8x8xf64>
  %l = train.dot_loss %3, %t {{layer = "l"}} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<f64>
  func.return %l, %1 : tensor<f64>, tensor<4x16xf64>
}}
"""
# The first parameter and its state are stored in parts (rows), which are read by work that is cut along the batch.
STORED = SPREAD.replace(
    '%w0: tensor<8x16xf64> {train.param = "w0", train.bound = 1.0 : f64}',
    f'%w0: tensor<4x16xf64> {{train.param = "w0", train.bound = 1.0 : f64, dist.sharding = {ROWS}}}',
).replace(
    '%c = dist.copy %w0 over [0] {layer = "fc1"} : (tensor<8x16xf64>)',
    '%c = dist.all_gather %w0 axis 0 over [0] addends {layer = "fc1"} : (tensor<4x16xf64>)',
)
SUMMED = 'tensor<8x8xf64> {train.output = "y", dist.sharding = #dist.sharding<[[], []] partial [0]>}'
LEVELS = ["", "lower-to-npu", "lower-to-npu,schedule", "lower-to-npu,schedule,lower-tiles"]


def _integers(**shapes: tuple[int, ...]) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    random = np.random.default_rng(0)
    return {name: random.integers(-3, 4, shape).astype(np.float64) for name, shape in shapes.items()}


def _run(text: str, pipeline: str, **shapes: tuple[int, ...]) -> Run:
    return run_source(text, format="mlir", inputs=_integers(**shapes), dtype="float64", pipeline=pipeline, steps=2)


def _assert_same(one: Run, other: Run) -> None:
    for group in ("outputs", "params", "gradients", "updated"):
        before, after = getattr(one, group), getattr(other, group)
        assert before.keys() == after.keys()
        assert compare(before, after).equal, (group, compare(before, after))
    assert other.losses == pytest.approx(one.losses, rel=1e-9)


@pytest.mark.parametrize("lowering", LEVELS)
def test_the_worked_example_moves_256_elements(lowering: str) -> None:
    shapes = {"x": (8, 8), "w0": (8, 16), "w1": (16, 8), "e": (8, 8)}
    one, two = _run(ONE, lowering, **shapes), _run(TWO, lowering, **shapes)
    _assert_same(one, two)
    assert one.traffic is None
    assert two.traffic is not None
    rows = [(row.op, row.layer, str(row.role), row.level, row.elements) for row in two.traffic.rows]
    assert rows == [
        ("dist.all_to_all", "fc2", "forward", 0, 32),
        ("dist.all_reduce", "fc2", "forward", 0, 64),
        ("dist.all_to_all", "fc2", "dx", 0, 32),
        ("dist.all_reduce", "fc1", "dw", 0, 128),
    ]
    assert two.traffic.total == two.traffic.of_level(0) == Fraction(256)


@pytest.mark.parametrize("lowering", LEVELS)
@pytest.mark.parametrize(("text", "moved"), [(SPREAD, 256), (STORED, 256)], ids=["copied", "stored in parts"])
def test_a_step_is_derived_on_devices(text: str, moved: int, lowering: str) -> None:
    shapes, passes = {"x": (8, 8), "t": (8, 8)}, ",".join(["autodiff", *filter(None, [lowering])])
    one, two = _run(NETWORK, passes, **shapes), _run(text, passes, **shapes)
    _assert_same(one, two)
    assert sorted(two.updated) == ["w0", "w0.momentum", "w1", "w1.momentum"]
    assert two.traffic is not None
    assert two.traffic.total == moved


def test_a_program_takes_and_gives_whole_tensors() -> None:
    keep = {"dtype": "f64"}
    found = describe_source(STORED, format="mlir", pipeline="autodiff")
    assert found["inputs"] == {"x": {"shape": [8, 8], **keep}, "t": {"shape": [8, 8], **keep}}
    assert found["params"] == {"w0": {"shape": [8, 16], **keep}, "w1": {"shape": [16, 8], **keep}}
    assert found["states"]["w0.momentum"] == {"shape": [8, 16], **keep}
    assert found["outputs"] == {"h": {"shape": [8, 16], **keep}}


def test_results_that_hold_addends_are_summed() -> None:
    text = TWO.replace('tensor<8x8xf64> {train.output = "y"}', SUMMED).replace("return %3,", "return %2,")
    shapes = {"x": (8, 8), "w0": (8, 16), "w1": (16, 8), "e": (8, 8)}
    _assert_same(_run(ONE, "", **shapes), _run(text, "", **shapes))


def test_devices_that_should_have_the_same_and_have_not_are_named() -> None:
    text = TWO.replace("return %3,", "return %2,")
    with pytest.raises(SourceError) as error:
        _run(text, "", x=(8, 8), w0=(8, 16), w1=(16, 8), e=(8, 8))
    assert error.value.message == "'output y' differs between the devices 0 and 1, expected the same on both"
    assert error.value.location is not None
    assert error.value.location.line == 2


# On a mesh of two levels: the batch is cut at the outer one, the input channels of the second layer at the inner one.
ADAM = """
func.func @net(%x: tensor<8x8xf64> {train.input = "x"}, %t: tensor<8x8xf64> {train.input = "t"},
               %w0: tensor<8x16xf64> {train.param = "w0", train.bound = 1.0 : f64},
               %w1: tensor<16x8xf64> {train.param = "w1", train.bound = 1.0 : f64})
    -> (tensor<f64> {train.loss})
    attributes {train.optimizer = {kind = "adam", lr = 0.125 : f64}} {
  %0 = train.matmul %x, %w0 {layer = "fc1"} : (tensor<8x8xf64>, tensor<8x16xf64>) -> tensor<8x16xf64>
  %1 = train.relu %0 {layer = "relu"} : (tensor<8x16xf64>) -> tensor<8x16xf64>
  %2 = train.matmul %1, %w1 {layer = "fc2"} : (tensor<8x16xf64>, tensor<16x8xf64>) -> tensor<8x8xf64>
  %l = train.mse %2, %t {layer = "l"} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<f64>
  func.return %l : tensor<f64>
}
"""
LEVELLED = """
func.func @net(%x: tensor<4x8xf64> {train.input = "x", dist.sharding = #dist.sharding<[[0], []]>},
               %t: tensor<4x8xf64> {train.input = "t", dist.sharding = #dist.sharding<[[0], []]>},
               %w0: tensor<8x16xf64> {train.param = "w0", train.bound = 1.0 : f64},
               %w1: tensor<8x8xf64> {train.param = "w1", train.bound = 1.0 : f64,
                                     dist.sharding = #dist.sharding<[[1], []]>})
    -> (tensor<f64> {train.loss})
    attributes {dist.mesh = #dist.mesh<[2, 2]>, train.optimizer = {kind = "adam", lr = 0.125 : f64}} {
  %c = dist.copy %w0 over [0] {layer = "fc1"} : (tensor<8x16xf64>) -> tensor<8x16xf64>
  %0 = train.matmul %x, %c {layer = "fc1"} : (tensor<4x8xf64>, tensor<8x16xf64>) -> tensor<4x16xf64>
  %1 = train.relu %0 {layer = "relu"} : (tensor<4x16xf64>) -> tensor<4x16xf64>
  %s = dist.slice %1 axis 1 over [1] {layer = "fc2"} : (tensor<4x16xf64>) -> tensor<4x8xf64>
  %d = dist.copy %w1 over [0] {layer = "fc2"} : (tensor<8x8xf64>) -> tensor<8x8xf64>
  %2 = train.matmul %s, %d {layer = "fc2"} : (tensor<4x8xf64>, tensor<8x8xf64>) -> tensor<4x8xf64>
  %3 = dist.all_reduce %2 over [1] {layer = "fc2"} : (tensor<4x8xf64>) -> tensor<4x8xf64>
  %m = train.mse %3, %t {layer = "l"} : (tensor<4x8xf64>, tensor<4x8xf64>) -> tensor<f64>
  %l = dist.all_reduce %m over [0] mean {layer = "l"} : (tensor<f64>) -> tensor<f64>
  func.return %l : tensor<f64>
}
"""


@pytest.mark.parametrize("lowering", LEVELS)
def test_levels_of_a_mesh_are_used_for_different_things(lowering: str) -> None:
    shapes, passes = {"x": (8, 8), "t": (8, 8)}, ",".join(["autodiff", *filter(None, [lowering])])
    one, two = _run(ADAM, passes, **shapes), _run(LEVELLED, passes, **shapes)
    _assert_same(one, two)
    assert two.traffic is not None
    # Outer: both gradients of weights and the loss, in two groups each. Inner: the sum and the gradient's parts.
    assert two.traffic.of_level(0) == 2 * (8 * 16 + 8 * 8 + 1)
    assert two.traffic.of_level(1) == 2 * (4 * 8 + 4 * 8)


# The parameter is whole; its update is shared, so that only a part of the momentum is on each device.
SHARED_UPDATE = """
func.func @step(%w: tensor<4x2xf64> {train.param = "w", train.bound = 1.0 : f64},
                %v: tensor<2x2xf64> {train.state = "w.momentum", dist.sharding = #dist.sharding<[[0], []]>},
                %x: tensor<4x2xf64> {train.input = "x"})
    -> (tensor<4x2xf64> {train.updates = 0 : i64},
        tensor<2x2xf64> {train.updates = 1 : i64, dist.sharding = #dist.sharding<[[0], []]>})
    attributes {dist.mesh = #dist.mesh<[2]>} {
  %g = dist.slice %x axis 0 over [0] {layer = "w", role = "dw"} : (tensor<4x2xf64>) -> tensor<2x2xf64>
  %p = dist.slice %w axis 0 over [0] {layer = "w", role = "update"} : (tensor<4x2xf64>) -> tensor<2x2xf64>
  %n, %m = train.sgd %p, %g, %v lr 0.5 momentum 0.5 {layer = "w", role = "update"}
    : (tensor<2x2xf64>, tensor<2x2xf64>, tensor<2x2xf64>) -> (tensor<2x2xf64>, tensor<2x2xf64>)
  %a = dist.all_gather %n axis 0 over [0] {layer = "w", role = "update"} : (tensor<2x2xf64>) -> tensor<4x2xf64>
  func.return %a, %m : tensor<4x2xf64>, tensor<2x2xf64>
}
"""


@pytest.mark.parametrize("lowering", LEVELS[:3])
def test_the_gradient_of_a_shared_update_is_put_together(lowering: str) -> None:
    run = run_source(SHARED_UPDATE, format="mlir", inputs=_integers(x=(4, 2)), dtype="float64", pipeline=lowering)
    x = _integers(x=(4, 2))["x"]
    assert np.array_equal(run.gradients["w"], x)
    assert np.array_equal(run.updated["w.momentum"], x)
    assert np.allclose(run.updated["w"], run.params["w"] - 0.5 * x, rtol=0, atol=1e-15)


def test_a_check_runs_programs_on_devices() -> None:
    steps = check_program(text_source(LEVELLED, "mlir", "net.mlir"), {"pipeline": "autodiff,lower-to-npu,schedule"})
    assert [step.comparison.equal for step in steps] == [True, True, True]


@pytest.mark.parametrize(("element", "total"), [("f16", 2052.0), ("bf16", 2048.0), ("f32", 2051.0)])
def test_a_sum_over_devices_is_rounded_once(element: str, total: float) -> None:
    text = f"""
func.func @sum(%x: tensor<4x{element}> {{train.input = "x"}}) -> (tensor<1x{element}> {{train.output = "y"}})
    attributes {{dist.mesh = #dist.mesh<[4]>}} {{
  %0 = dist.slice %x axis 0 over [0] {{layer = "l"}} : (tensor<4x{element}>) -> tensor<1x{element}>
  %1 = dist.all_reduce %0 over [0] {{layer = "l"}} : (tensor<1x{element}>) -> tensor<1x{element}>
  func.return %1 : tensor<1x{element}>
}}
"""
    run = run_source(text, format="mlir", inputs={"x": np.array([2048.0, 1.0, 1.0, 1.0])})
    assert run.outputs["y"].tolist() == [total]
