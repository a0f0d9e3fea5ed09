"""
From the mappings that are known of each contraction to machines for all of them.

On clusters of one kind with buffers of some size each contraction runs the best of its known mappings that fits. So
the best machine of these clusters is found over the sizes of buffers alone, which are those that some mapping needs:
for each size of the elements' buffers the shared buffer gets what the budget leaves. No choice of known mappings under
the budget is better, which a test shows by brute force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.explore.design.archive import Elites
from npuc.compiler.explore.design.budget import Budget
from npuc.compiler.explore.design.costs import Work

MOST_SIZES = 96
"""The sizes of a buffer that are tried; of more, those at equal distances in their order."""


@dataclass(frozen=True)
class MachineSize:
    """Sub-clusters of each level from the top, elements of a processing element's buffer, bytes of the shared one."""

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
class Totals:
    """Cycles and energy of steps on machines with buffers of several sizes, and the mappings, [contraction, size]."""

    cycles: Floats
    energy: Floats
    rows: Ints


def totals(
    works: Sequence[Work], elites: Sequence[Elites], fanouts: tuple[int, ...], l1: Floats, l2: Floats, price: float
) -> Totals:
    """
    The step on machines of these clusters whose buffers have sizes `l1` and `l2`, arrays of equal length.

    Each contraction runs the mapping with the least cycles + `price` x energy that fits, or without cycles where the
    price is infinite; of equal ones that with less of the other. Infinite where none fits.
    """
    cycles, energy = np.zeros(len(l1)), np.zeros(len(l1))
    chosen = np.zeros((len(works), len(l1)), np.int64)
    for number, (work, known) in enumerate(zip(works, elites, strict=True)):
        rows = np.flatnonzero(known.within(fanouts))
        needs = known.needs.at(rows)
        first, second = _scores(needs.cycles, needs.energy, price)
        order = np.lexsort((second, first))
        rows, needs = rows[order], needs.at(order)
        fits = (needs.l1[:, None] <= l1) & (needs.l2[:, None] <= l2)
        if not len(rows):
            cycles += np.inf
            continue
        best = fits.argmax(axis=0)
        some = fits.any(axis=0)
        cycles += np.where(some, work.repeat * needs.cycles[best], np.inf)
        energy += np.where(some, work.repeat * needs.energy[best], np.inf)
        chosen[number] = rows[best]
    return Totals(cycles, energy, chosen)


def _scores(cycles: Floats, energy: Floats, price: float) -> tuple[Floats, Floats]:
    if np.isinf(price):
        return energy, cycles
    return cycles + price * energy, energy if price == 0 else cycles


def designs(
    works: Sequence[Work],
    elites: Sequence[Elites],
    fanouts: tuple[int, ...],
    budget: Budget,
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
    elements = float(prod(fanouts))
    l2 = budget.largest_l2(elements, l1)
    l1, l2 = l1[l2 > 0], l2[l2 > 0]
    if smaller and len(l1):
        sizes = _sizes([one.needs.l2[one.within(fanouts)] for one in elites])
        l1, all_l2 = (grid.ravel() for grid in np.meshgrid(l1, sizes, indexing="ij"))
        fits = all_l2 <= np.repeat(l2, len(sizes))
        l1, l2 = l1[fits], all_l2[fits]
    found: list[Design] = []
    for price in prices if len(l1) else ():
        step = totals(works, elites, fanouts, l1, l2, price)
        for at in np.flatnonzero(np.isfinite(step.cycles)):
            found.append(_shrunk(elites, fanouts, step, int(at), budget))
    return list(dict.fromkeys(found))


def _shrunk(elites: Sequence[Elites], fanouts: tuple[int, ...], step: Totals, at: int, budget: Budget) -> Design:
    """The design with buffers as large as its mappings need."""
    rows = tuple(map(int, step.rows[:, at]))
    l1 = max(float(one.needs.l1[row]) for one, row in zip(elites, rows, strict=True))
    l2 = max(float(one.needs.l2[row]) for one, row in zip(elites, rows, strict=True))
    size = MachineSize(fanouts, int(l1), int(np.ceil(l2)))
    return Design(size, rows, float(step.cycles[at]), float(step.energy[at]), budget.area_mm2(size.elements, l1, l2))


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


def pareto(points: Floats) -> Ints:
    """The rows of points [row, measure], each to be small, that no other row dominates; of equal rows the first."""
    order = np.lexsort(points.T[::-1])
    kept: list[int] = []
    front = np.zeros((0, points.shape[1]))
    for row in map(int, order):
        if not len(front) or not (front <= points[row]).all(axis=1).any():
            kept.append(row)
            front = np.concatenate([front, points[row][None]])
    return np.array(sorted(kept), np.int64)
