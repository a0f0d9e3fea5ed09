"""Whole training steps against the losses, gradients and changes that PyTorch computed (float64), without PyTorch."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler.layers.base import Array
from tests.steps import FILE, Task, largest_error, marks, quiet, run_steps

pytestmark = pytest.mark.oracle

NETWORKS = Path(__file__).parents[2] / "pytorch" / "networks"


@cache
def stored() -> dict[str, dict[str, Any]]:
    return json.loads(FILE.read_text())


def arrays(name: str, kind: str, part: slice) -> dict[str, Array]:
    return {key: np.array(numbers[part]) for key, numbers in stored()[name][kind].items()}


def test_every_network_is_stored() -> None:
    assert set(stored()) == {path.stem for path in NETWORKS.glob("[!_]*.py")}


@pytest.mark.parametrize("name", stored())
def test_three_training_steps_equal_the_stored_ones(name: str) -> None:
    ours = run_steps(Task(**stored()[name]["task"]))
    assert ours.run.losses == pytest.approx(stored()[name]["losses"], rel=1e-8, abs=1e-12)
    gradients = arrays(name, "params", slice(0, 3))
    error, worst = largest_error(marks(ours.gradients), gradients)
    assert error <= 1e-8, f"gradient of {worst}"
    error, worst = largest_error(marks(ours.changes), arrays(name, "params", slice(3, 6)), quiet(gradients))
    assert error <= 1e-8, f"change of {worst}"
    error, worst = largest_error(marks(ours.stats), arrays(name, "stats", slice(None)))
    assert error <= 1e-8, worst
