"""Memory of a device: plans that keep within it, parameters in parts, and what is said where it cannot suffice."""

import re

import pytest
from typing_extensions import Unpack

from npuc.compiler import compile_source
from npuc.compiler.core.errors import CapacityError, UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.report import Report

NET = """
network net(batch=16) {
  input x: f32[batch, 256]
  labels y: i32[batch]
  a = relu(linear(x, 1024))
  b = relu(linear(a, 1024))
  c = relu(linear(b, 1024))
  logits = linear(c, 16)
  loss cross_entropy(logits, y)
  optimizer adam(lr=0.01)
}
"""
MIB = 1 << 20


def compiled(capacity: float | None = None, **more: Unpack[CompileKeywords]) -> Report:
    overrides = {} if capacity is None else {"dram.capacity_mib": capacity}
    options: CompileKeywords = {"hardware": "hypar16", "overrides": overrides, "devices": 4, "opt_level": 0, **more}
    return compile_source(NET, **options)


def peak(report: Report) -> float:
    assert report.memory is not None
    return report.memory.peak_bytes / MIB


def moved(report: Report) -> int:
    assert report.parallel is not None
    return int(report.parallel.total.elements)


def test_less_memory_takes_more_movement_and_is_kept() -> None:
    options: CompileKeywords = {"parallel": "joint", "convention": "physical", "defines": {"batch": 1024}}
    free = compiled(**options)
    tight = compiled(peak(free) - 3, **options)
    assert peak(tight) < peak(free) - 3
    assert moved(tight) > moved(free)


@pytest.mark.parametrize("batch", [512, 2048])
def test_what_fits_with_the_plan_for_memory_fits_with_that_for_movement(batch: int) -> None:
    """A layer that is split along its output reads its input whole: its peak is well above what it keeps."""
    options: CompileKeywords = {"parallel": "joint", "convention": "physical", "defines": {"batch": batch}}
    keeping: CompileKeywords = {**options, "plan_objective": "memory"}
    free, least = compiled(**options), compiled(**keeping)
    assert peak(least) < peak(free)
    for limit in (peak(free) - 0.1, peak(least)):
        tight = compiled(limit, **options)
        assert peak(tight) <= limit
        assert moved(free) <= moved(tight) <= moved(least)


def test_parameters_in_parts_move_as_much_and_take_less() -> None:
    whole, parts = compiled(parallel="dp"), compiled(parallel="dp", zero=True)
    assert moved(whole) == moved(parts)
    # all parameters, their two states and gradients, but the numbers of steps
    assert whole.memory is not None
    assert parts.memory is not None
    assert parts.memory.argument_bytes < 0.3 * whole.memory.argument_bytes
    sent = [sum(float(str(row.native["sent_bytes"])) for row in r.ops if row.phase == "comm") for r in (whole, parts)]
    assert sent[0] == pytest.approx(sent[1])


def test_what_cannot_suffice_is_said_with_how_much_is_missing() -> None:
    with pytest.raises(CapacityError, match="parameters and optimizer states alone take") as caught:
        compiled(2, parallel="joint")
    message = caught.value.message
    found = re.search(r"take ([\d.]+) MiB a device under any plan, ([\d.]+) MiB more than there is", message)
    assert found is not None
    assert float(found[1]) - 2 == pytest.approx(float(found[2]), abs=0.11)
    assert "most take those of" in message
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("devices", [1, 4])
def test_a_step_that_takes_too_much_is_refused(devices: int) -> None:
    with pytest.raises(CapacityError, match=r"hypar16 has 3\.0 MiB, [\d.]+ MiB too little; most take \w+"):
        compile_source(NET, hardware="hypar16", overrides={"dram.capacity_mib": 3}, devices=devices, opt_level=0)


def test_wrong_capacities() -> None:
    with pytest.raises(UsageError, match=r"dram\.capacity_mib"):
        compiled(-1)
