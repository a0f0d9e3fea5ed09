"""
Plan search for heterogeneous devices: a partition type and a share for each layer group of each pair, for least time.

The search goes from the top level down, as AccPar's (Song et al., HPCA 2020): each pair takes the types and shares that
are best for the work and tensors left to it, exactly where the graph is narrow (`share_search.py`). Within a device
group devices are homogeneous, and shares are halves.

The best choice of each pair need not be best together. So plans by data parallelism and with equal shares are also
costed, and the one with the shortest step is taken. The time of a step includes, in each phase, the communication of
all pairs above a device, and waits for the slowest device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.heterogeneous.fleet import Fleet
from npuc.compiler.analysis.sharding.heterogeneous.share_search import HALF, Halves, ShareSearch
from npuc.compiler.analysis.sharding.heterogeneous.shares import (
    Choice,
    LocalWork,
    Workload,
    amount,
    boundaries,
    local_work_in,
    partial_sums,
)
from npuc.compiler.analysis.solvers.choices.graph import Table

BATCH: PartitionType = "I"


@dataclass(frozen=True, eq=False)
class Pair:
    """
    The choice of a pair of sides, exact, and the pairs within each side (None: one device).

    `seconds` is what the pair takes as the search sees it, its sides at full speed; `sides` what each side takes of it,
    without waiting. `group_seconds` and `edge_seconds` are those of each layer group and edge, with all pairs below.
    """

    fleet: Fleet
    choice: Choice
    within: tuple[Pair | None, Pair | None]
    seconds: float
    sides: tuple[float, float]
    group_seconds: Table
    edge_seconds: Table

    @property
    def step_seconds(self) -> float:
        """The time of a step on all devices of the pair."""
        return math.fsum(self.group_seconds.tolist()) + math.fsum(self.edge_seconds.tolist())


@dataclass(frozen=True)
class HeterogeneousPlans:
    """The plan whose step is shortest; of equal shares the shortest, and data parallelism in equal shares."""

    best: Pair
    equal: Pair
    data_parallel: Pair


@dataclass(frozen=True)
class Row:
    """A pair of a plan: its level, its groups (first and last), how many such there are, what one of them moves."""

    level: int
    groups: tuple[int, int]
    count: int
    pair: Pair
    elements: Fraction


Chooser = Callable[[Halves, LocalWork, Pair | None], Choice]
"""The choice of a pair for what is left; where a plan is followed, from its pair."""


def plan_heterogeneous(step: Workload, fleet: Fleet) -> HeterogeneousPlans:
    """The plan for at least two devices."""
    local = step.whole.as_floats()

    def grown(choose: Chooser, like: Pair | None = None) -> Pair:
        pair = _Grower(step, choose).pair(fleet, local, like)
        assert pair is not None, "there are at least two devices"
        return pair

    of_equal = grown(_searching(step, shares=False))
    of_data = grown(_searching(step, shares=False, only=BATCH))
    halves, shared = [of_equal, of_data], list[Pair]()
    if len(fleet.groups) > 1:
        shared = [grown(_searching(step, shares=True, only=only)) for only in (None, BATCH)]
        halves += [grown(_with_halves, plan) for plan in shared]
    equal = min(halves, key=_length)
    return HeterogeneousPlans(min([*shared, equal], key=_length), equal, of_data)


def _searching(step: Workload, *, shares: bool, only: PartitionType | None = None) -> Chooser:
    """The best for each pair."""
    search = ShareSearch(step, shares=shares, only=only)
    return lambda halves, local, _: search.choose(halves, local)


def _length(pair: Pair) -> float:
    return pair.step_seconds


def _with_halves(halves: Halves, local: LocalWork, like: Pair | None) -> Choice:
    """The types of a plan, in equal shares."""
    assert like is not None, "a plan is followed as far as it goes"
    return Choice(like.choice.types, np.array([HALF] * len(like.choice.types), np.object_))


class _Grower:
    """Makes pairs from the top down by a chooser, alike ones once."""

    def __init__(self, step: Workload, choose: Chooser):
        self.step = step
        self.choose = choose
        self._known: dict[tuple[Fleet, bytes, int], Pair] = {}

    def pair(self, fleet: Fleet, local: LocalWork, like: Pair | None) -> Pair | None:
        """The pair at the top of a fleet; None for one device."""
        if fleet.devices == 1:
            return None
        key = fleet, local.key, id(like)
        if key not in self._known:
            self._known[key] = self._made(fleet, local, like)
        return self._known[key]

    def _made(self, fleet: Fleet, local: LocalWork, like: Pair | None) -> Pair:
        halves = Halves(self.step, fleet)
        choice = self.choose(halves, local, like)
        rounded = Choice(choice.types, choice.shares.astype(np.float64))
        own, read = partial_sums(local, rounded), boundaries(self.step, local, rounded)
        found: list[tuple[Table, Table, Table, Table]] = []
        within: list[Pair | None] = []
        for side, half in enumerate(fleet.halves()):
            rest = local_work_in(self.step, local, rounded, side)
            below = self.pair(half, rest, None if like is None else like.within[side])
            within.append(below)
            work, moved = halves.seconds(side, rest.work, own)
            _, crossed = halves.seconds(side, rest.work, read[side])
            slowest = work if below is None else below.group_seconds
            deeper = 0 if below is None else below.edge_seconds
            found.append((work + moved, crossed, slowest + moved, deeper + crossed))
        first, second = found
        ideal = [math.fsum(np.maximum(a, b).tolist()) for a, b in zip(first[:2], second[:2], strict=True)]
        return Pair(
            fleet,
            choice,
            (within[0], within[1]),
            sum(ideal),
            (math.fsum([*first[0], *first[1]]), math.fsum([*second[0], *second[1]])),
            np.maximum(first[2], second[2]),
            np.maximum(first[3], second[3]),
        )


def rows_of(step: Workload, plan: Pair) -> Iterator[Row]:
    """All pairs of a plan from the top, level by level, alike ones below a group together; amounts are exact."""
    waiting = [(0, 0, 1, plan, step.whole)]
    while waiting:
        below: list[tuple[int, int, int, Pair, LocalWork]] = []
        for level, first, count, pair, local in waiting:
            groups = len(pair.fleet.groups)
            yield Row(level, (first, first + groups - 1), count, pair, amount(step, local, pair.choice))
            unlike = groups > 1
            for side in (0, 1) if unlike else (0,):
                within = pair.within[side]
                if within is not None:
                    start = first + side * (groups // 2)
                    rest = local_work_in(step, local, pair.choice, side)
                    below.append((level + 1, start, count if unlike else 2 * count, within, rest))
        waiting = below


def moved_in_all(rows: Sequence[Row]) -> Fraction:
    """What all pairs move, one direction, in elements."""
    return sum((row.count * row.elements for row in rows), start=Fraction(0))
