"""Steps that fit compute beside their transfers: more cache is never slower, and the plan says what it does."""

from typing import Any

import pytest

from npuc.compiler import Report, compile_source
from npuc.compiler.core.errors import UsageError

CHAIN = """
network chain(batch=256) {
  input x: f32[batch, 300]
  labels y: i64[batch]
  h = relu(linear(x, 200))
  h = relu(linear(h, 100))
  h = relu(linear(h, 50))
  loss cross_entropy(linear(h, 10), y)
  optimizer sgd(lr=0.1)
}
"""
OPERANDS = 300 * 200 + 200 * 100 + 100 * 50 + 50 * 10 + 200 + 100 + 50 + 10
SIZES = (0.3, 0.5, 0.65, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 1000.0)
MACHINES: list[dict[str, Any]] = [{}, {"dram.gb_per_s": 60.0}, {"compute.tflops": 0.5}, {"compute.tflops": 80.0}]


def scored(mib: float, **keys: Any) -> Report:
    overrides = {"memory.cache_mib": mib, **{name.replace("__", "."): value for name, value in keys.items()}}
    return compile_source(CHAIN, backend="roofline", hardware="rtx2080ti", overrides=overrides)


def moved(report: Report) -> int:
    return (report.totals.dram_read_bytes or 0) + (report.totals.dram_write_bytes or 0)


@pytest.mark.parametrize("machine", MACHINES)
def test_what_fits_is_kept(machine: dict[str, Any]) -> None:
    """In a cache that holds everything only the input, the labels and the weights move: nothing is faster."""
    found = [scored(mib, **{name.replace(".", "__"): value for name, value in machine.items()}) for mib in SIZES]
    seconds = [report.totals.seconds or 0.0 for report in found]
    assert seconds == sorted(seconds, reverse=True)
    bytes = [moved(report) for report in found]
    assert bytes == sorted(bytes, reverse=True)
    last = found[-1]
    assert moved(last) == last.totals.lower_bound_bytes
    assert (last.totals.lower_bound_bytes or 0) >= 4 * (256 * 300 + 2 * OPERANDS)
    assert last.native["streamed_steps"] == 0


def test_a_step_lasts_as_long_as_the_longer_of_its_two_sides() -> None:
    """Each step's time is its work and what it waits for; that decides what limits it, and no step is below it."""
    report = scored(1000.0)
    for row in report.ops:
        seconds, work = row.seconds or 0.0, row.lower_bound_seconds or 0.0
        stall = row.native["stall_seconds"]
        assert isinstance(stall, float)
        assert seconds == pytest.approx(work + stall, rel=1e-9, abs=1e-15)
        assert row.limit == ("dram" if stall > 1e-9 * work else "compute")
    first = report.ops[0]
    loads = (first.dram_read_bytes or 0) / 616e9
    assert first.seconds == pytest.approx(max(loads, first.lower_bound_seconds or 0.0))


def test_without_overlap_a_step_loads_and_then_works() -> None:
    first = scored(1000.0, roofline__overlap=False, roofline__plan="single").ops[0]
    assert first.seconds == pytest.approx((first.dram_read_bytes or 0) / 616e9 + (first.lower_bound_seconds or 0.0))


@pytest.mark.parametrize("keys", [{"roofline.profile": "thesis"}, {"roofline.compat": "prototype"}])
def test_the_study_s_conventions_do_not_overlap(keys: dict[str, Any]) -> None:
    """Unless it is asked for; the report's hardware says which it was."""

    def found(more: dict[str, Any]) -> Report:
        return compile_source(CHAIN, backend="roofline", hardware="rtx2080ti", overrides=keys | more)

    assert found({}).totals == found({"roofline.overlap": False}).totals
    settings = found({}).hardware["roofline"]
    assert isinstance(settings, dict)
    assert settings["overlap"] is False
    assert (found({"roofline.overlap": True}).totals.seconds or 0) < (found({}).totals.seconds or 0)


def test_a_flag_is_a_flag() -> None:
    with pytest.raises(UsageError, match=r"roofline\.overlap"):
        scored(1.0, roofline__overlap="sometimes")


def test_steps_after_a_very_long_one_take_as_long_as_they_compute() -> None:
    """Their times are differences of far larger ones."""
    network = (
        "network n(batch=3) { input x: f32[batch, 3]; labels y: i32[batch]; h = linear(x, 12); "
        "loss cross_entropy(linear(h, 5), y) }"
    )
    slow = {"dram.gb_per_s": 1e-9, "compute.tflops": 219.8, "memory.cache_mib": 0.25}
    report = compile_source(network, backend="roofline", overrides=slow)
    assert max(row.seconds or 0 for row in report.ops) > 100
    for row in report.ops:
        assert 0 < (row.utilization or 0) <= 1
        assert (row.lower_bound_seconds or 0) <= (row.seconds or 0)
