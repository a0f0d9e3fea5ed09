"""Trainings that are executed: the same steps one by one, and targets that are found where they are reached."""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.backends.registry import get_backend
from npuc.compiler import run_file, training_file
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.options import options_of
from npuc.compiler.driver.read import read_program, texts_of
from npuc.compiler.driver.running.data import made_data
from npuc.compiler.explore.training.result import TrainedRun
from npuc.compiler.explore.training.target import WINDOW, Target, target_of
from npuc.frontends.source import open_source

NET = """network net(batch=8, rate=0.5) {
  input x: f32[batch, 12]
  labels y: i32[batch]
  loss cross_entropy(linear(relu(linear(x, 7)), 5), y)
  optimizer sgd(lr=rate, momentum=0.9)
}
"""
MACHINE: dict[str, Any] = {"hardware": "igo-small", "overrides": {"array.rows": 8, "array.cols": 8}}
LOW = "[[programs]]\nname = 'low'\nprecision = 'bf16'\n"


def executed(folder: Path, phases: str, **options: Any) -> tuple[TrainedRun, ...]:
    (folder / "net.dsl").write_text(NET)
    (folder / "p.toml").write_text(phases)
    return training_file(folder / "net.dsl", [folder / "p.toml"], **MACHINE, **options).trainings[0].runs


@given(st.lists(st.floats(0, 4), max_size=40), st.floats(0, 4), st.sampled_from(["loss", "accuracy"]))
def test_a_target_is_reached_at_the_first_mean_of_ten(values: list[float], value: float, metric: Any) -> None:
    target = target_of(str(Target(metric, value)))
    means = {end: np.mean(values[end - WINDOW : end]) for end in range(WINDOW, len(values) + 1)}
    near = any(abs(mean - target.value) < 1e-9 for mean in means.values())
    right = [end for end, mean in means.items() if (mean < target.value if metric == "loss" else mean > target.value)]
    assert near or target.reached(values) == (right[0] if right else None)


@pytest.mark.parametrize("text", ["", "loss", "loss > 1", "accuracy < 1", "loss < x", "loss < 1e999", "loss < --1"])
def test_what_is_no_target(text: str) -> None:
    with pytest.raises(UsageError, match="expected a loss to come below or an accuracy to come above"):
        target_of(text)


def test_one_program_runs_as_run_runs_it(tmp_path: Path) -> None:
    first, second = executed(tmp_path, "[[phases]]\nsteps = 23\n", run=True, seeds=2, seed=3)
    for run, seed in ((first, 3), (second, 4)):
        alone = run_file(tmp_path / "net.dsl", steps=23, seed=seed, **MACHINE)
        assert list(run.losses) == alone.losses
        assert list(run.accuracies) == alone.accuracies
        assert (run.seed, run.reached) == (seed, None)
    assert first.losses != second.losses


def test_images_come_in_the_order_in_which_run_has_them(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    (tmp_path / "net.dsl").write_text(NET.replace("x: f32[batch, 12]", "x: f32[batch, 64]").replace(", 5)", ", 10)"))
    (tmp_path / "p.toml").write_text("[[phases]]\nsteps = 15\n[[phases]]\nsteps = 4\n")
    options: dict[str, Any] = {**MACHINE, "dataset": "digits", "seed": 2}
    found = training_file(tmp_path / "net.dsl", [tmp_path / "p.toml"], run=True, seeds=1, **options)
    assert list(found.trainings[0].runs[0].losses) == run_file(tmp_path / "net.dsl", steps=19, **options).losses


def test_types_are_those_that_are_priced(tmp_path: Path) -> None:
    """Also on the machine that a backend takes where nobody names one."""
    (tmp_path / "net.dsl").write_text(NET)
    (tmp_path / "p.toml").write_text("[[phases]]\nsteps = 3\n")
    default = get_backend("cycle").default_hardware
    unnamed, named = (
        training_file(tmp_path / "net.dsl", [tmp_path / "p.toml"], run=True, seeds=1, **own).trainings[0].runs[0]
        for own in (CompileKeywords(), CompileKeywords(hardware=default))
    )
    assert unnamed == named


def test_programs_in_turn_go_on_from_each_other(tmp_path: Path) -> None:
    """Step by step with the arrays that the step before has left: parameters and momentum."""
    phases = (
        f"{LOW}[[programs]]\nname = 'slow'\ndefines = {{rate = 0.25}}\n"
        "[[phases]]\nsteps = 3\nprogram = 'low'\n[[phases]]\nsteps = 8\nmix = {slow = 2, low = 1, step = 1}\n"
    )
    (run,) = executed(tmp_path, phases, run=True, seeds=1)
    order = ["low"] * 3 + list(islice(cycle(["slow", "slow", "low", "step"]), 8))
    own: dict[str, dict[str, Any]] = {"low": {"precision": "bf16"}, "slow": {"defines": {"rate": 0.25}}, "step": {}}
    source = open_source(tmp_path / "net.dsl")
    batch = made_data(read_program(source, options_of({}), texts_of(source)), 0).batch(0)
    kept: dict[str, Any] = {}
    for number, name in enumerate(order):
        alone = run_file(tmp_path / "net.dsl", inputs={**batch, **kept}, **MACHINE, **own[name])
        assert run.losses[number] == alone.loss, number
        kept = {**alone.params, **alone.updated}


def test_a_run_ends_where_its_target_is_reached(tmp_path: Path) -> None:
    phases = f"{LOW}[[phases]]\nsteps = 90\nmix = {{low = 1, step = 2}}\n"
    (whole,) = executed(tmp_path, phases, run=True, seeds=1)
    (run,) = executed(tmp_path, phases, until="loss < 0.3", seeds=1)
    means = [np.mean([one or 0 for one in whole.losses[end - WINDOW : end]]) for end in range(WINDOW, 91)]
    end = next(number for number, mean in enumerate(means, WINDOW) if mean < 0.3)
    assert WINDOW < end < 90
    energy = None if whole.energy_j is None else whole.energy_j[:end]
    cut = whole.losses[:end], whole.accuracies[:end], whole.seconds[:end]
    assert run == TrainedRun(0, *cut, energy, end)
    (never,) = executed(tmp_path, phases, until="accuracy > 1", seeds=1)
    assert (never.reached, never.losses) == (None, whole.losses)


def test_seconds_are_those_of_the_steps_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "net.dsl").write_text(NET)
    (tmp_path / "p.toml").write_text(f"{LOW}[[phases]]\nsteps = 7\nmix = {{low = 1, step = 2}}\n")
    (found,) = training_file(tmp_path / "net.dsl", [tmp_path / "p.toml"], **MACHINE, run=True, seeds=1).trainings
    low, step = (one.seconds for one in found.programs)
    assert list(found.runs[0].seconds) == pytest.approx(np.cumsum([low, step, step, low, step, step, low]).tolist())
    assert found.runs[0].seconds[-1] == pytest.approx(found.seconds)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 2}, "--seeds is for a training that is executed"),
        ({"dataset": "digits"}, "--dataset is for a training that is executed"),
        ({"run": True, "dataset": "digit"}, "--dataset digit: there is no such data set"),
        ({"run": True, "seeds": 0}, "seeds is 0, expected at least 1"),
        ({"run": True, "seed": -1}, "seed is -1, expected at least 0"),
        ({"until": "loss"}, "--until loss: expected a loss to come below"),
        ({"run": True, "inference": True}, "p.toml: program 'step' has no loss to train by"),
    ],
)
def test_what_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        executed(tmp_path, "[[phases]]\nsteps = 3\n", **options)
    assert message in caught.value.message


def test_a_network_without_classes_has_no_accuracy(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text("[[phases]]\nsteps = 3\n")
    (tmp_path / "net.dsl").write_text(
        "network net(batch=8) {\n  input x: f32[batch, 12]\n  input y: f32[batch, 5]\n"
        "  loss mse(linear(x, 5), y)\n  optimizer sgd(lr=0.1)\n}\n"
    )
    with pytest.raises(UsageError, match=r"a program has no classes, of which --until accuracy > 0\.9 counts"):
        training_file(tmp_path / "net.dsl", [tmp_path / "p.toml"], **MACHINE, until="accuracy > 0.9")
