"""Seconds of layer groups by units, against programs of the whole step."""

from typing import Any

import pytest

from npuc.compiler import compile_source
from npuc.compiler.analysis.sharding.cost.step_time import Times
from npuc.compiler.driver.costing import work_times

MACHINE: dict[str, Any] = {
    "name": "small",
    "clock_mhz": 1000,
    "array": {"rows": 16, "cols": 16, "dataflow": "os"},
    "memory": {"spm_kib": 64, "element_bytes": 2},
    "dram": {"gb_per_s": 32.0},
    "vector": {"lanes": 16},
    "network": {"levels": [{"kind": "pair", "size": 2, "gb_per_s": 1}, {"kind": "pair", "size": 2, "gb_per_s": 10}]},
}
RECURRENT = """
network steps(batch=8, length=3) {
  input x: f32[batch, length, 16]
  labels y: i32[batch]
  h = lstm(x, 16)
  last = slice(h, 1, start=length - 1)
  logits = linear(flatten(last), 8)
  loss cross_entropy(logits, y)
  optimizer adam(lr=0.1)
}
"""
BRANCHES = """
network branches(batch=8) {
  input x: f32[batch, 16]
  labels y: i32[batch]
  a = relu(linear(x, 16))
  b = linear(a, 16) + a
  c = dropout(layer_norm(b), 0.5) * b
  loss cross_entropy(linear(c, 8) + linear(a, 8), y)
  optimizer sgd(lr=0.1, momentum=0.9)
}
"""
CONVOLUTIONS = """
network convolutions(batch=8) {
  input x: f32[batch, 4, 8, 8]
  labels y: i32[batch]
  a = relu(batch_norm(conv2d(x, 8, kernel=3, padding=1)))
  b = max_pool(a, kernel=2)
  c = relu(batch_norm(conv2d(b, 8, kernel=3, padding=1))) + b
  loss cross_entropy(linear(flatten(c), 8), y)
  optimizer sgd(lr=0.1)
}
"""


class Priced(Exception):
    """The times are known."""


def both_times(monkeypatch: pytest.MonkeyPatch, text: str, **options: Any) -> tuple[Times, Times, bool]:
    """The times by units and by whole programs, and whether units were taken."""
    found: list[Times] = []
    by_units: list[bool] = []
    measured = work_times.Measure.times

    def times(self: work_times.Measure, module: Any, number: int) -> Times:
        by_units.append(self.by_units)
        found.append(measured(self, module, number))
        self.by_units = False
        found.append(measured(self, module, number))
        raise Priced

    monkeypatch.setattr(work_times.Measure, "times", times)
    with pytest.raises(Priced):
        compile_source(text, devices=4, parallel="joint", plan_objective="time", **options)
    return found[0], found[1], by_units[0]


def unbounded(passes: object) -> None:
    """No bounds hold of a program, whatever its passes."""


@pytest.mark.parametrize("text", [RECURRENT, BRANCHES, CONVOLUTIONS], ids=["recurrent", "branches", "convolutions"])
@pytest.mark.parametrize("inference", [False, True], ids=["step", "forward"])
def test_units_take_what_they_take_in_programs_of_the_whole_step(
    monkeypatch: pytest.MonkeyPatch, text: str, inference: bool
) -> None:
    monkeypatch.setattr(work_times, "bounded_passes", unbounded)
    by_units, whole, taken = both_times(monkeypatch, text, hardware=MACHINE, opt_level=0, inference=inference)
    assert taken
    assert by_units == whole
    assert any(seconds > 0 for own in by_units.work for seconds in own.values())


@pytest.mark.parametrize(
    ("text", "cores", "level"),
    [
        pytest.param(RECURRENT, 1, 0, id="recurrent-1"),
        pytest.param(RECURRENT, 3, 3, id="recurrent-3-O3"),
        pytest.param(BRANCHES, 3, 0, id="branches-3"),
        pytest.param(BRANCHES, 1, 1, id="branches-1-O1"),
        pytest.param(BRANCHES, 1, 2, id="branches-1-O2"),
        pytest.param(BRANCHES, 1, 3, id="branches-1-O3"),
        pytest.param(CONVOLUTIONS, 1, 0, id="convolutions-1"),
        pytest.param(CONVOLUTIONS, 3, 2, id="convolutions-3-O2"),
    ],
)
def test_a_plan_by_the_units_that_it_needs_is_that_by_all(
    monkeypatch: pytest.MonkeyPatch, text: str, cores: int, level: int
) -> None:
    found: list[Times] = []
    measured = work_times.Measure.times

    def times(self: work_times.Measure, module: Any, number: int) -> Times:
        found.append(measured(self, module, number))
        return found[-1]

    monkeypatch.setattr(work_times.Measure, "times", times)

    def report() -> Any:
        machine = MACHINE | {"array": MACHINE["array"] | {"cores": cores}}
        return compile_source(
            text, devices=4, parallel="joint", plan_objective="time", hardware=machine, opt_level=level, tolerance=0.0
        )

    needed = report()
    monkeypatch.setattr(work_times, "bounded_passes", unbounded)
    assert report().to_json() == needed.to_json()
    known = [own.values() for own in found[1].work]
    least = [own.values() for own in found[0].work]
    assert all(a <= b for one, other in zip(least, known, strict=True) for a, b in zip(one, other, strict=True))
    assert found[0].rest == found[1].rest
    assert found[0].work != found[1].work
