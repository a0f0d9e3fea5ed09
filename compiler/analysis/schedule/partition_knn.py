"""
Which dimension of a layer's gradients to cut: the published predictor, K nearest neighbours over sizes.

A layer is known by the sizes of dX, dW and dY, on a logarithmic scale. Its neighbours are layers for which every scheme
was priced (`partition_labels.csv`, made by `python -m npuc.studies.igo.labels`): on one core not cut at all
(`whole`) or cut along m, n or k into 2, 4 or 8 parts one after another, on several cores a part each; all in the best
of the published orders. The most frequent best scheme among them is taken, of equally frequent ones that of the
nearest. Kim et al., MICRO 2023, give the features but not the number of neighbours: ours is the one
with the least excess time on held-out layers of one core.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import log2
from typing import Literal, TypeAlias

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import Ints

Scheme: TypeAlias = Literal["whole", "m", "n", "k"]
SCHEMES: tuple[Scheme, ...] = ("whole", "m", "n", "k")
"""What a predictor chooses from; on several cores only the dimensions."""
NEIGHBOURS = 1
FILE = "partition_labels.csv"
ALIKE = 1.001
"""Times within this factor are taken for equal; the first scheme of them is the best."""
REPETITIONS, HELD_OUT = 1000, 0.2
"""Random splits, and the share of the layers that is not learnt from."""


@dataclass(frozen=True)
class Label:
    """A layer with the cycles of both gradients one after the other and, by scheme, together."""

    m: int
    n: int
    k: int
    sequential: float
    times: tuple[float, ...]

    @property
    def features(self) -> tuple[float, float, float]:
        """The sizes of dX, dW and dY on a logarithmic scale."""
        return log2(self.m * self.k), log2(self.k * self.n), log2(self.m * self.n)

    @property
    def best(self) -> int:
        """The number of the best scheme."""
        least = min(self.times) * ALIKE
        return next(number for number, time in enumerate(self.times) if time <= least)


@cache
def labels(npu: str = "large", cores: int = 1) -> tuple[Label, ...]:
    """The layers of an NPU (`large`, `small`) of so many cores; none of a chip that was not priced."""
    text = (files("npuc.compiler.analysis.schedule") / FILE).read_text(encoding="utf-8")
    return tuple(
        Label(
            int(row["m"]),
            int(row["n"]),
            int(row["k"]),
            float(row["sequential"]),
            tuple(float(row[f"time_{scheme}"] or "inf") for scheme in SCHEMES),
        )
        for row in csv.DictReader(text.splitlines())
        if (row["npu"], row["cores"]) == (npu, str(cores))
    )


def labels_for(machine: Machine) -> tuple[Label, ...]:
    """The layers of the priced chip that is most like a machine: by the size of its array, then by its cores."""
    chips = [("large", 128, (1, 2, 4, 8)), ("small", 45, (1,))]
    npu, _, cores = min(chips, key=lambda chip: abs(log2(machine.array.rows * machine.array.cols / chip[1] ** 2)))
    if machine.cores > 1 and len(cores) == 1:
        npu, cores = "large", (1, 2, 4, 8)
    same = [c for c in cores if (c > 1) == (machine.cores > 1)]
    return labels(npu, min(same, key=lambda c: abs(log2(c / machine.cores))))


def predict(m: int, n: int, k: int, known: Sequence[Label], neighbours: int = NEIGHBOURS) -> Scheme:
    """
    The scheme for the gradients of a product of these sizes, from layers that are `known`.

    A dimension may have fewer tiles than parts; whoever cuts leaves the layer whole then.
    """
    own = np.array(Label(m, n, k, 0.0, ()).features)
    distance = ((np.array([label.features for label in known]) - own) ** 2).sum(axis=1)
    nearest = np.argsort(distance, kind="stable")[:neighbours]
    return SCHEMES[_vote([known[int(number)].best for number in nearest])]


def _vote(votes: Sequence[int]) -> int:
    """The most frequent; of equally frequent ones the first."""
    return max(votes, key=lambda vote: (votes.count(vote), -votes.index(vote)))


@dataclass(frozen=True)
class Evaluation:
    """
    A predictor on layers that it has not seen: the share of best schemes, the mean excess over the best scheme's time,
    and the mean time over the sequential program's with the predicted and with the best scheme.
    """

    accuracy: float
    regret: float
    predicted: float
    oracle: float


def evaluate(known: Sequence[Label], neighbours: int = NEIGHBOURS, repetitions: int = REPETITIONS) -> Evaluation:
    """The predictor on random splits of layers, always the same ones."""
    features = np.array([label.features for label in known])
    times = np.array([label.times for label in known])
    sequential = np.array([label.sequential for label in known])
    best, least = [label.best for label in known], times.min(axis=1)
    distance = ((features[:, None] - features[None]) ** 2).sum(axis=2)
    order: list[list[int]] = np.argsort(distance, axis=1, kind="stable").tolist()
    random = np.random.default_rng(0)
    held = max(1, round(HELD_OUT * len(known)))
    totals = np.zeros(4)
    for _ in range(repetitions):
        test: Ints = random.permutation(len(known))[:held]
        unseen = set(test.tolist())
        found: list[int] = []
        for layer in test.tolist():
            near = (other for other in order[layer] if other not in unseen)
            found.append(_vote([best[other] for other, _ in zip(near, range(neighbours), strict=False)]))
        # A layer of one tile along the dimension is not cut.
        chosen = np.minimum(times[test, found], np.where(np.isinf(times[test, found]), times[test, 0], np.inf))
        right = np.array([best[layer] for layer in test.tolist()]) == np.array(found)
        totals += [
            right.mean(),
            (chosen / least[test]).mean() - 1,
            (chosen / sequential[test]).mean(),
            (least[test] / sequential[test]).mean(),
        ]
    return Evaluation(*(totals / repetitions).tolist())
