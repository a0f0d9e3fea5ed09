"""The study `training-methods`: what its rows are, beside what is compiled by hand."""

import json
from functools import cache
from math import isclose
from pathlib import Path
from typing import Any, cast

import pytest

from npuc.compiler import compile_source
from npuc.compiler.report import Report
from npuc.studies.base import STUDIES, Asked

NET = """
network net(batch=16) {
  input x: f32[batch, 32]
  labels y: i32[batch]
  h = relu(linear(x, 48))
  loss cross_entropy(linear(h, 16), y)
  optimizer sgd(lr=0.05)
}
"""


@cache
def rows(preset: str, folder: Path) -> dict[str, dict[str, Any]]:
    file = folder / "net.dsl"
    file.write_text(NET)
    plan = STUDIES.get("training-methods").plan(Asked(preset, networks=(str(file),), hardware="igo-small"))
    done: list[str] = []
    outcome = plan.run(lambda name, points: done.extend([name] * points))
    assert len(done) == plan.points
    found = json.loads(outcome.json())
    assert found["study"] == "training-methods"
    assert outcome.csv().count("\n") == 1 + len(found["rows"])
    return {row["method"]: row for row in found["rows"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("methods")


def step_of(**options: Any) -> float:
    keywords: dict[str, Any] = {"hardware": "igo-small", "precision": "f32", **options}
    report = cast("Report", compile_source(NET, **keywords))
    seconds = report.totals.seconds
    assert seconds is not None
    return seconds


def test_methods_cost_what_their_programs_do_for_the_steps_of_90_epochs(folder: Path) -> None:
    found, steps = rows("priced", folder), 90_000
    for name, options in (
        ("f32", {}),
        ("bf16", {"precision": "bf16"}),
        ("fp8", {"quantize": "fp8"}),
        ("bfp-low", {"quantize": "bfp-low"}),
        ("layerwise", {"after": ["lower-to-npu=quantize{to=bfp-low first=1}"]}),
    ):
        assert isclose(found[name]["seconds"], steps * step_of(**options), rel_tol=1e-9), name
    plain, low = step_of(), step_of(quantize="bfp-low")
    assert isclose(found["temporal"]["seconds"], 30_000 * plain + 60_000 * low, rel_tol=1e-9)
    assert found["f32"]["gain"] == found["f32"]["energy_gain"] == 1
    assert all(row["loss"] is None for row in found.values())


def test_methods_that_are_executed_say_what_they_learned(folder: Path) -> None:
    found = rows("executed", folder)
    assert found["f32"]["reached"] >= 1
    assert found["f32"]["loss"] == found["recompute"]["loss"]
    for row in found.values():
        assert (row["loss"] is None) == (row["error"] is not None)
        if row["reached"]:
            assert 10 <= row["steps_to_loss"] <= 60
    assert found["bfp-high"]["loss"] < found["bfp-low"]["loss"]
    assert found["fast"]["seconds"] >= found["bfp-low"]["seconds"]
