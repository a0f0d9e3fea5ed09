"""
Three training steps of whole networks, whatever judges them.

Inputs and weights follow from seeds, so that both sides start equal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from npuc.compiler.driver.run import describe_source, run_source
from npuc.compiler.interpreter.execute import Run
from npuc.compiler.layers.base import Array
from npuc.frontends import read_text

FILE = Path(__file__).parent / "oracle" / "data" / "pytorch" / "networks.json"
"""What PyTorch computed; written by `python -m tests.pytorch.store_networks`."""
STEPS = 3
SEED = 1


@dataclass(frozen=True)
class Task:
    """
    A network and its data.

    `source` is a text or `samples:NAME`, in which `changes` are replaced. `limits` holds the number of values of each
    integer input, `inputs` those that are not random.
    """

    source: str
    defines: Mapping[str, Any] = field(default_factory=dict[str, Any])
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    inputs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    changes: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def filename(self) -> str:
        """What imports of the text are relative to."""
        return self.source if self.source.startswith("samples:") else "<string>"

    def to_json(self) -> dict[str, Any]:
        """As plain data; `Task(**data)` is the inverse."""
        return {name: value for name, value in asdict(self).items() if value}

    def text(self) -> str:
        """The text of the network."""
        text = read_text(self.source) if self.source.startswith("samples:") else self.source
        for old, new in self.changes.items():
            assert old in text, f"{self.source} has no {old}"
            text = text.replace(old, new)
        return text


@dataclass(frozen=True)
class Steps:
    """What the steps of npuc computed, in float64, and from what."""

    run: Run
    data: Mapping[str, Array]
    stat_names: Sequence[str]

    @property
    def gradients(self) -> dict[str, Array]:
        """The gradients of the first step."""
        return self.run.gradients

    @property
    def changes(self) -> dict[str, Array]:
        """What the steps added to each parameter that they trained."""
        return {n: self.run.updated[n] - before for n, before in self.run.params.items() if n in self.run.updated}

    @property
    def stats(self) -> dict[str, Array]:
        """The running statistics after the steps."""
        return {name: self.run.updated[name] for name in self.stat_names}


def run_steps(task: Task) -> Steps:
    """Training steps in float64 on random data."""
    text = task.text()
    description = describe_source(text, filename=task.filename, defines=task.defines)
    random = np.random.RandomState(0)  # its numbers never change with numpy's version
    data: dict[str, Array] = {}
    for name, about in (description["inputs"] | description["labels"]).items():
        if name in task.inputs:
            data[name] = np.asarray(task.inputs[name])
        elif about["dtype"].startswith("i"):
            data[name] = random.randint(0, task.limits[name], about["shape"])
        else:
            data[name] = random.standard_normal(about["shape"])
    run = run_source(
        text, filename=task.filename, defines=task.defines, inputs=data, steps=STEPS, dtype="float64", seed=SEED
    )
    return Steps(run, data, list(description["stats"]))


def marks(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Three numbers that stand for each array: its norm and its products with two fixed vectors of about norm 1."""
    found: dict[str, Array] = {}
    for name, array in arrays.items():
        flat = np.asarray(array, np.float64).reshape(-1)
        angle = np.arange(flat.size) * 2.0 + crc32(name.encode()) % 1000
        root = np.sqrt(max(flat.size, 2) / 2)
        found[name] = np.array([np.linalg.norm(flat), *(flat @ np.cos(angle * f) / root for f in (1.0, np.sqrt(2)))])
    return found


def quiet(gradients: Mapping[str, Array]) -> set[str]:
    """The parameters whose gradient is 0 but for rounding, like that of the bias of the keys of attention."""
    largest = {name: float(np.abs(array).max(initial=0.0)) for name, array in gradients.items()}
    return {name for name, value in largest.items() if value <= 1e-10 * max(largest.values())}


def largest_error(
    ours: Mapping[str, Array], theirs: Mapping[str, Array], quiet: Collection[str] = ()
) -> tuple[float, str]:
    """
    The largest difference, in the unit of the largest value of its array, and the name of that array.

    The unit is at least a thousandth of the largest value of all. It is a thousand times that value for the quiet ones,
    of which an optimizer that divides by the size of the gradient makes something out of rounding alone.
    """
    assert ours.keys() == theirs.keys()
    if not theirs:
        return 0.0, ""
    largest = {name: float(np.abs(array).max(initial=0.0)) for name, array in theirs.items()}
    most = max(largest.values())
    units = {name: 1e3 * most if name in quiet else max(value, 1e-3 * most) for name, value in largest.items()}
    errors = {name: float(np.abs(ours[name] - theirs[name]).max(initial=0.0)) / units[name] for name in theirs}
    name = list(errors)[int(np.argmax(list(errors.values())))]  # of not a number before all others
    return errors[name], name
