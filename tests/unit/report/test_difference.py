"""Differences of reports that say little: what is not said is not compared, and reasons go along the difference."""

import pytest

from npuc.compiler import compile_source, diff_reports
from npuc.compiler.report import OpRow, Report, make_report
from npuc.compiler.report.difference.result import Difference
from npuc.compiler.report.rows import Phase

NET = """network n(batch=8) {
  input x: f32[batch, 64]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 128)), 32), y)
  optimizer sgd(lr=0.1)
}
"""


def report(*rows: tuple[str, Phase, float | None, int | None], backend: str = "cycle") -> Report:
    """Rows of a layer, a phase, seconds, and bytes that are read."""
    made = [
        OpRow(index=n, name=name, op="train.relu", phase=phase, seconds=seconds, dram_read_bytes=moved, limit="dram")
        for n, (name, phase, seconds, moved) in enumerate(rows)
    ]
    return make_report(backend, {"name": "m", "clock_mhz": 1000.0}, made, network="n")


def step(batch: int, devices: int) -> Report:
    if devices == 1:
        return compile_source(NET, backend="cycle", hardware="hypar16", defines={"batch": batch})
    return compile_source(
        NET, backend="cycle", hardware="hypar16", defines={"batch": batch}, devices=devices, parallel="dp"
    )


def total(found: Difference, name: str) -> float:
    ratio = next(one.ratio for one in found.per_sample if one.name == name)
    assert ratio is not None
    return ratio


def test_a_sample_of_several_devices_is_of_all_of_them() -> None:
    a, b = step(64, 1), step(256, 4)
    found = diff_reports(a, b)
    moved = [(one.totals.dram_read_bytes or 0) + (one.totals.dram_write_bytes or 0) for one in (a, b)]
    assert total(found, "traffic") == pytest.approx((4 * moved[1] / 256) / (moved[0] / 64))
    assert total(found, "energy") == pytest.approx(
        ((b.totals.energy_j or 0) * 4 / 256) / ((a.totals.energy_j or 1) / 64)
    )
    assert total(found, "time") == pytest.approx(((b.totals.seconds or 0) / 256) / ((a.totals.seconds or 1) / 64))
    assert (found.a.devices, found.b.devices) == (1, 4)
    assert any("A is of 1 device and B of 4 devices" in note for note in found.notes)


def test_as_many_samples_on_more_devices_are_compared_by_sample() -> None:
    found = diff_reports(step(64, 1), step(64, 4))
    assert [one.name for one in found.per_sample] == ["time", "traffic", "energy"]
    assert diff_reports(step(64, 4), step(64, 4)).per_sample == []


def test_traffic_that_a_report_does_not_say_is_no_reason() -> None:
    found = diff_reports(report(("a", "forward", 2.0, 10**6)), report(("a", "forward", 1.0, None)))
    (layer,) = found.layers
    assert layer.difference.seconds == -1.0
    assert layer.difference.dram_read_bytes is None
    assert not [reason for part in layer.parts for reason in part.reasons if reason.kind in ("traffic", "bandwidth")]


def test_a_layer_without_a_time_is_not_faster() -> None:
    a = report(("a", "forward", 2.0, 10), ("b", "forward", 3.0, 10))
    found = diff_reports(a, report(("a", "forward", 2.0, 10), ("b", "forward", None, 10)))
    by_name = {layer.name: layer for layer in found.layers}
    assert by_name["a"].difference.seconds == 0.0
    assert by_name["b"].difference.seconds is None
    assert "1 layer has no time in B, and so no difference of it" in found.notes
    assert "faster" not in found.verdict
    gone = diff_reports(a, report(("a", "forward", 2.0, 10)))
    assert {layer.name: layer.difference.seconds for layer in gone.layers} == {"a": 0.0, "b": -3.0}


def test_the_clause_of_a_layer_is_of_a_phase_that_goes_along() -> None:
    a = report(("a", "forward", 9.0, 9_000), ("a", "dx", 1.0, 1_000))
    b = report(("a", "forward", 2.0, 2_000), ("a", "dx", 6.0, 6_000))
    (layer,) = diff_reports(a, b).layers
    assert layer.difference.seconds == -2.0
    assert "forward: " in layer.why
    assert "less" in layer.why
    assert "more" not in layer.why


def test_a_reason_against_the_difference_says_so() -> None:
    (layer,) = diff_reports(report(("a", "forward", 2.0, 1_000)), report(("a", "forward", 1.0, 5_000))).layers
    (reason,) = [one for part in layer.parts for one in part.reasons if one.kind == "traffic"]
    assert reason.text.startswith("although ")
    (layer,) = diff_reports(report(("a", "forward", 1.0, 1_000)), report(("a", "forward", 2.0, 5_000))).layers
    assert "although" not in layer.why


def test_what_cannot_be_compared_is_not_equal() -> None:
    a = report(("a", "forward", 2.0, 10))
    assert diff_reports(a, a).verdict == "Nothing differs."
    unsaid = report(("a", "forward", None, 10))
    assert diff_reports(a, unsaid).verdict != "Nothing differs."
    other = make_report("cycle", {"name": "m", "clock_mhz": 1000.0, "dram": {"kind": "x"}}, a.ops, network="n")
    assert diff_reports(a, other).verdict == "No cost differs."
