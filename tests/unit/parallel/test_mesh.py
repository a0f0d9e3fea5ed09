"""Meshes of devices whose levels are no halves: the program, what moves, and the errors."""

from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_source, run_source
from npuc.compiler.core.errors import CapacityError, SourceError, UsageError
from npuc.compiler.core.options import CompileKeywords

NET = """
network net(batch=12) {
  input x: f32[batch, 24]
  labels y: i32[batch]
  a = relu(linear(x, 48))
  b = a + linear(a, 48)
  logits = linear(b, 12)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.5)
}
"""


def traffic(text: str, pipeline: str) -> Any:
    rng = np.random.default_rng(1)
    data = {"x": rng.integers(-3, 4, (12, 24)), "y": rng.integers(0, 12, 12)}
    return run_source(text, inputs=data, pipeline=pipeline, dtype="float64")


@pytest.mark.parametrize("mesh", ["3", "6", "3x2", "2x3", "4x3", "2x2x3"])
@pytest.mark.parametrize("strategy", ["dp", "mp", "hypar", "joint", "accpar-joint"])
def test_devices_compute_what_one_does_and_move_what_is_said(mesh: str, strategy: str) -> None:
    options: CompileKeywords = {
        "hardware": "igo-large",
        "mesh": mesh,
        "parallel": strategy,
        "convention": "physical",
        "opt_level": 0,
    }
    report = compile_source(NET, **options)
    pipeline = f'parallelize{{strategy={strategy} mesh="{mesh}" convention=physical}},autodiff'
    alone, together = traffic(NET, "autodiff"), traffic(NET, pipeline)
    for name, value in alone.updated.items():
        np.testing.assert_allclose(together.updated[name], value, rtol=1e-9)
    assert report.parallel is not None
    assert [level.parts for level in report.parallel.levels] == [int(part) for part in mesh.split("x")]
    assert together.traffic.total == report.parallel.total.elements


def test_a_mesh_of_halves_is_the_number_of_its_devices() -> None:
    found = [
        compile_source(NET, hardware="hypar16", parallel="joint", opt_level=0, mesh=mesh, devices=devices)
        for mesh, devices in (("2x2", 1), (None, 4))
    ]
    assert found[0].parallel == found[1].parallel
    assert found[0].totals == found[1].totals


def test_time_is_planned_on_a_mesh() -> None:
    ring = {
        "network.levels": [{"kind": "ring", "size": 3, "gb_per_s": 0.1}, {"kind": "switch", "size": 4, "gb_per_s": 2}]
    }
    planned = compile_source(
        NET, hardware="igo-large", overrides=ring, mesh="3x4", parallel="joint", plan_objective="time", opt_level=0
    )
    assert planned.parallel is not None
    assert planned.parallel.planned is not None
    assert planned.parallel.planned.value == pytest.approx(planned.totals.seconds, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mesh": "4y2"}, "found '4y2', expected sizes of levels"),
        ({"mesh": "4x1"}, "found '4x1', expected sizes of levels"),
        ({"mesh": ""}, "found '', expected sizes of levels"),
        ({"mesh": "3x2", "devices": 4}, "--mesh 3x2 has 6"),
        ({"mesh": "4096x2"}, "expected up to 4,096"),
        ({"devices": 12}, "expected a power of two"),
        ({"mesh": "3x2", "pipeline": "parallelize"}, "of -p say the same"),
    ],
)
def test_wrong_meshes_are_said(options: CompileKeywords, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compile_source(NET, **{"hardware": "igo-large", **options})


@pytest.mark.parametrize("options", ['mesh="3x"', "devices=6", 'mesh="3x2" devices=4', "devices=1", 'mesh="two"'])
def test_wrong_meshes_of_the_pass_are_said(options: str) -> None:
    with pytest.raises((UsageError, SourceError)):
        traffic(NET, f"parallelize{{strategy=dp {options}}},autodiff")


def test_an_axis_that_does_not_divide() -> None:
    with pytest.raises(CapacityError, match="expected a multiple of 5"):
        compile_source(NET, hardware="igo-large", mesh="5", parallel="dp")


def test_too_many_levels_of_different_sizes() -> None:
    with pytest.raises(UsageError, match="found 6 levels, not all of 2 parts, expected at most 5"):
        compile_source(NET, hardware="igo-large", mesh="2x2x2x2x2x3", parallel="joint", defines={"batch": 96})
