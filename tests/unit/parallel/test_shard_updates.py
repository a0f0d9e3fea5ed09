"""The pass shard-updates: what is computed stays, states and gradients are in parts, as much moves as before."""

from typing import Any

import numpy as np
import pytest

from npuc.compiler import Report, UsageError, compile_source, run_source
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.options import CompileKeywords

NET = """network net(batch=8) {
  input  x: f32[batch, 16]
  labels y: i32[batch]
  for i in 0..6 { x = relu(linear(x, 16)) }
  loss cross_entropy(linear(x, 4), y)
  optimizer OPTIMIZER
}
"""
OPTIMIZERS = (
    "sgd(lr=0.1)",
    "sgd(lr=0.1, momentum=0.9, dampening=0.1)",
    "adamw(lr=0.01)",
    "adam(lr=0.01, amsgrad=true)",
)
INPUTS = {
    "x": np.random.default_rng(0).normal(size=(8, 16)),
    "y": np.random.default_rng(1).integers(0, 4, 8),
}
DP = CompileKeywords(devices=4, parallel="dp", convention="physical", overrides={"memory.element_bytes": 4})


def report(stage: int) -> Report:
    options: CompileKeywords = {**DP, "zero": stage}
    return compile_source(NET.replace("OPTIMIZER", "adamw(lr=0.01)"), backend="cycle", **options)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("mesh", ["2", "2x2", "3x2"])
@pytest.mark.parametrize("strategy", ["dp", "hypar", "joint"])
def test_a_step_is_the_same(optimizer: str, mesh: str, strategy: str) -> None:
    text = NET.replace("OPTIMIZER", optimizer)
    if mesh == "3x2":
        text = text.replace("batch=8", "batch=12").replace("16", "12")
    inputs = INPUTS if mesh != "3x2" else {"x": np.ones((12, 12)), "y": np.arange(12) % 4}
    alone = run_source(text, inputs=inputs, steps=3, dtype="float64")
    for stage in (1, 2):
        own = run_source(
            text,
            inputs=inputs,
            steps=3,
            dtype="float64",
            mesh=mesh,
            parallel=strategy,
            convention="physical",
            zero=stage,
        )
        np.testing.assert_allclose(own.losses, alone.losses, rtol=1e-9)
        assert own.updated.keys() == alone.updated.keys()
        for name, value in alone.updated.items():
            np.testing.assert_allclose(own.updated[name], value, rtol=1e-7, atol=1e-9)


def test_what_a_device_keeps() -> None:
    """Of adamw's two moments, the gradient and the parameter, at the peak, whatever kind holds them."""
    found = [report(stage) for stage in range(4)]
    kinds = [{name: size or 0 for name, size in (one.totals.memory or {}).items()} for one in found]
    states, weights = ([kind[name] for kind in kinds] for name in ("optimizer", "weights"))
    assert states[1] == states[2] == states[3] < 0.26 * states[0]
    assert weights[0] == weights[1] == weights[2] > 3.9 * weights[3]
    # gradients are addends of sums until all are there in stage 1: buffers, as many as there were gradients
    held = [kind["gradients"] + kind["buffers"] for kind in kinds]
    assert held[1] > 0.9 * held[0]
    assert held[2] < 0.5 * held[1]
    peaks = [one.totals.peak_bytes or 0 for one in found]
    assert peaks[0] > peaks[1] > peaks[2] > peaks[3]


def test_as_much_moves_as_before() -> None:
    plans = [report(stage).parallel for stage in (0, 1, 2)]
    assert len({plan.total.bytes for plan in plans if plan is not None}) == 1
    sent = [sent_bytes(stage) for stage in range(4)]
    assert sent == [pytest.approx(sent[0])] * 4


def sent_bytes(stage: int) -> float:
    """What a device sends in a step."""
    options: CompileKeywords = {**DP, "hardware": "hypar16", "zero": stage}
    rows = compile_source(NET.replace("OPTIMIZER", "adamw(lr=0.01)"), backend="cycle", **options).ops
    return sum(float(str(row.native["sent_bytes"])) for row in rows if row.phase == "comm")


def test_mixed_precision() -> None:
    """Gradients are cast before they are summed; what is gathered is what was updated."""
    text = NET.replace("OPTIMIZER", "adamw(lr=0.01)")
    shared: Any = {"inputs": INPUTS, "precision": "mixed", "devices": 4, "parallel": "dp"}
    whole = run_source(text, **shared)
    for stage in (1, 2):
        np.testing.assert_allclose(run_source(text, zero=stage, **shared).losses, whole.losses, rtol=1e-6)


@pytest.mark.parametrize(
    ("passes", "why"),
    [
        ("autodiff,shard-updates", "the program is of one device"),
        ("parallelize{strategy=mp devices=2},autodiff,shard-updates", "can each update a part"),
    ],
)
def test_nothing_to_do_is_told(passes: str, why: str) -> None:
    net = (
        NET.replace("OPTIMIZER", "sgd(lr=0.1)")
        .replace(", 16)", ", 16, bias=false)")
        .replace(", 4)", ", 4, bias=false)")
    )
    found = compile_source(net, pipeline=f"{passes},lower-to-npu,schedule")
    assert [text for text in found.warnings if why in text], found.warnings


def test_lamb_keeps_parameters_whole() -> None:
    found = compile_source(NET.replace("OPTIMIZER", "lamb(lr=0.01)"), **{**DP, "zero": 1})
    assert [text for text in found.warnings if "can each update a part" in text]


def test_it_comes_after_autodiff() -> None:
    with pytest.raises(SourceError, match="run it after autodiff"):
        compile_source(NET.replace("OPTIMIZER", "sgd(lr=0.1)"), pipeline="parallelize,shard-updates,autodiff")


@pytest.mark.parametrize("stage", [0, 3, 4])
def test_other_stages_are_refused(stage: int) -> None:
    with pytest.raises(UsageError, match=f"stage is {stage}, expected 1 or 2"):
        compile_source(NET.replace("OPTIMIZER", "sgd(lr=0.1)"), pipeline=f"autodiff,shard-updates{{stage={stage}}}")
