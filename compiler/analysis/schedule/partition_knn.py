"""
The published predictor of the dimension along which to partition a layer's gradients: K nearest neighbours.

The features of a layer are the sizes of dX, dW and dY on a logarithmic scale. Its neighbours are layers for which every
scheme was costed (`partition_labels.csv`, written by `python -m npuc.studies.igo.labels`): on one core unpartitioned
(`whole`), or partitioned along m, n or k into 2, 4 or 8 parts that run one after another; on several cores one part per
core; always in the best of the published orders. The prediction is the most frequent best scheme among the neighbours,
and that of the nearest among equally frequent ones. Kim et al., MICRO 2023, give the features but not the number of
neighbours: it is chosen here for the least excess time on held-out layers of one core.
"""

import csv
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from math import log2
from typing import Literal, TypeAlias

import numpy as np

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import Ints
from npuc.compiler.core.frozen import frozen

Scheme: TypeAlias = Literal["whole", "m", "n", "k"]
SCHEMES: tuple[Scheme, ...] = ("whole", "m", "n", "k")
"""The schemes to choose from; on several cores only the dimensions."""
NEIGHBOURS = 1
FILE = "partition_labels.csv"
ALIKE = 1.001
"""Times within this factor count as equal; the first scheme among them is the best."""
REPETITIONS, HELD_OUT = 1000, 0.2
"""The number of random splits, and the share of layers that each holds out."""


@frozen
class Label:
    """A layer with the cycles of its gradients one after the other, and interleaved under each scheme."""

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
    """The layers of an NPU (`large`, `small`) of so many cores; none for a chip that was not costed."""
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
    """The layers of the costed chip nearest to a machine: by the size of its array, then by its cores."""
    chips = [("large", 128, (1, 2, 4, 8)), ("small", 45, (1,))]
    npu, _, cores = min(chips, key=lambda chip: abs(log2(machine.array.rows * machine.array.cols / chip[1] ** 2)))
    if machine.cores > 1 and len(cores) == 1:
        npu, cores = "large", (1, 2, 4, 8)
    same = [c for c in cores if (c > 1) == (machine.cores > 1)]
    return labels(npu, min(same, key=lambda c: abs(log2(c / machine.cores))))


def predict(m: int, n: int, k: int, known: Sequence[Label], neighbours: int = NEIGHBOURS) -> Scheme:
    """
    The predicted scheme for the gradients of a product of these sizes, from the layers `known`.

    A dimension may have fewer tiles than parts; the caller leaves the layer whole then.
    """
    own = np.array(Label(m, n, k, 0.0, ()).features)
    distance = ((np.array([label.features for label in known]) - own) ** 2).sum(axis=1)
    nearest = np.argsort(distance, kind="stable")[:neighbours]
    return SCHEMES[_vote([known[int(number)].best for number in nearest])]


def _vote(votes: Sequence[int]) -> int:
    """The most frequent vote; the first among equally frequent ones."""
    return max(votes, key=lambda vote: (votes.count(vote), -votes.index(vote)))


@frozen
class Evaluation:
    """
    The quality of a predictor on held-out layers: the share of best schemes, the mean excess over the time of the best
    scheme, and the mean time relative to the sequential program, with the predicted and with the best scheme.
    """

    accuracy: float
    regret: float
    predicted: float
    oracle: float


def evaluate(known: Sequence[Label], neighbours: int = NEIGHBOURS, repetitions: int = REPETITIONS) -> Evaluation:
    """Evaluate the predictor on random splits of the layers, with a fixed seed."""
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
