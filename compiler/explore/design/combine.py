"""
From the mappings that are known of each contraction to machines for all of them.

On clusters of one kind with buffers of some size each contraction runs the best of its known mappings that fits. So
the best machine of these clusters is found over the sizes of buffers alone, which are those that some mapping needs:
for each size of the elements' buffers the shared buffer gets what the budget leaves. No choice of known mappings under
the budget is better, which a test shows by brute force, as long as there are no more sizes than `MOST_SIZES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import prod

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.explore.design.archive import Elites
from npuc.compiler.explore.design.budget import Budget
from npuc.compiler.explore.design.costs import Needs, Work
from npuc.compiler.explore.design.energy import AccessEnergy

MOST_SIZES = 96
"""The sizes of a buffer that are tried; of more, those at equal distances in their order."""


@dataclass(frozen=True)
class MachineSize:
    """Sub-clusters of each level from the top, bytes of a processing element's buffer and of the shared one."""

    fanouts: tuple[int, ...]
    l1: int
    l2: int

    @property
    def elements(self) -> int:
        """Processing elements."""
        return prod(self.fanouts)


@dataclass(frozen=True)
class Design:
    """
    A machine with the number of the mapping, among the elites, that each contraction runs on it.

    `cycles` and `energy` (MACs' worth) are those of a whole step, `area_mm2` the machine's.
    """

    size: MachineSize
    rows: tuple[int, ...]
    cycles: float
    energy: float
    area_mm2: float


@dataclass(frozen=True)
class Machines:
    """Machines of the same clusters, whose buffers have sizes `l1` and `l2` in bytes, arrays of equal length."""

    fanouts: tuple[int, ...]
    l1: Floats
    l2: Floats

    def __len__(self) -> int:
        return len(self.l1)


@dataclass(frozen=True)
class Totals:
    """Cycles and energy of steps on machines with buffers of several sizes, and the mappings, [contraction, size]."""

    cycles: Floats
    energy: Floats
    rows: Ints


def totals(
    works: Sequence[Work],
    elites: Sequence[Elites],
    machines: Machines,
    energy: AccessEnergy,
    price: float,
) -> Totals:
    """
    The step on each machine.

    Each contraction runs the mapping with the least cycles + `price` x energy that fits, or without cycles where the
    price is infinite; of equal ones that with less of the other. Infinite where none fits.
    """
    cycles, joules = np.zeros(len(machines)), np.zeros(len(machines))
    chosen = np.zeros((len(works), len(machines)), np.int64)
    for number, (work, known) in enumerate(zip(works, elites, strict=True)):
        rows = np.flatnonzero(known.within(machines.fanouts))
        if not len(rows):
            cycles += np.inf
            continue
        needs = known.needs.at(rows)
        own = work.energy(_column(needs), energy.costs(work.width, machines.l1, machines.l2))
        time = np.broadcast_to(needs.cycles[:, None], own.shape)
        fits = (needs.l1[:, None] <= machines.l1) & (needs.l2[:, None] <= machines.l2)
        first, second = (own, time) if np.isinf(price) else (time + price * own, own if price == 0 else time)
        first = np.where(fits, first, np.inf)
        best = np.where(first == first.min(axis=0), second, np.inf).argmin(axis=0)
        some, at = fits.any(axis=0), np.arange(len(machines))
        cycles += np.where(some, work.repeat * time[best, at], np.inf)
        joules += np.where(some, work.repeat * own[best, at], np.inf)
        chosen[number] = rows[best]
    return Totals(cycles, joules, chosen)


def _column(needs: Needs) -> Needs:
    """Needs with an axis for machines behind that of mappings."""
    return Needs(*(getattr(needs, one.name)[:, None] for one in fields(needs)))


def designs(
    works: Sequence[Work],
    elites: Sequence[Elites],
    fanouts: tuple[int, ...],
    budget: Budget,
    energy: AccessEnergy,
    prices: Sequence[float],
    *,
    smaller: bool = False,
) -> list[Design]:
    """
    Machines of these clusters within the budget, the best of each size of the elements' buffers at each price.

    With `smaller` shared buffers below what the budget allows are tried, too: machines that take less area.
    """
    l1 = _sizes([one.needs.l1[one.within(fanouts)] for one in elites])
    if not len(l1):
        return []
    l2 = budget.largest_l2(prod(fanouts), l1)
    l1, l2 = l1[l2 > 0], l2[l2 > 0]
    if smaller and len(l1):
        sizes = _sizes([one.needs.l2[one.within(fanouts)] for one in elites])
        l1, all_l2 = (grid.ravel() for grid in np.meshgrid(l1, sizes, indexing="ij"))
        fits = all_l2 <= np.repeat(l2, len(sizes))
        l1, l2 = l1[fits], all_l2[fits]
    found: dict[Design, None] = {}
    for price in prices if len(l1) else ():
        step = totals(works, elites, Machines(fanouts, l1, l2), energy, price)
        found |= dict.fromkeys(_shrunk(works, elites, fanouts, step, budget, energy))
    return list(found)


def _shrunk(
    works: Sequence[Work],
    elites: Sequence[Elites],
    fanouts: tuple[int, ...],
    step: Totals,
    budget: Budget,
    energy: AccessEnergy,
) -> list[Design]:
    """The designs on which a step can run, with buffers as large as their mappings need, in whole bytes."""
    columns = np.flatnonzero(np.isfinite(step.cycles))
    rows, cycles = step.rows[:, columns], step.cycles[columns]
    needs = [one.needs.at(own) for one, own in zip(elites, rows, strict=True)]
    if not len(columns):
        return []
    l1 = np.ceil(np.max([one.l1 for one in needs], axis=0))
    l2 = np.ceil(np.max([one.l2 for one in needs], axis=0))
    spent = np.zeros(len(columns))
    for work, own in zip(works, needs, strict=True):
        spent += work.repeat * work.energy(own, energy.costs(work.width, l1, l2))
    area = budget.model.of(np.full(len(columns), float(prod(fanouts))), l1, l2)
    return [
        Design(
            MachineSize(fanouts, int(l1[at]), int(l2[at])),
            tuple(rows[:, at].tolist()),
            float(cycles[at]),
            float(spent[at]),
            float(area[at]),
        )
        for at in range(len(columns))
    ]


def _sizes(needs: Sequence[Floats]) -> Floats:
    """Sizes of a buffer that are worth trying: what mappings need, at least what every contraction needs at all."""
    if not all(len(one) for one in needs):
        return np.zeros(0)
    least = max(float(one.min()) for one in needs)
    known = np.unique(np.concatenate([[least], *needs]))
    known = known[known >= least]
    if len(known) > MOST_SIZES:
        known = known[np.unique(np.linspace(0, len(known) - 1, MOST_SIZES).astype(int))]
    return known
