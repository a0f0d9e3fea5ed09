"""
A machine with a mapping of every contraction as one vector of real numbers, which any optimiser can search.

The first coordinates are, in [0, 1]: how many elements (the logarithm, as a share of that of the most that the area
has), how many of them are in a cluster (likewise), and how large their buffers are (from the least to all that the
area leaves, by logarithm); the shared buffer may have the rest. Those of each contraction follow
(`explore/mapping/vectors`), without that of clusters. Tiles are cut until they fit, and buffers are as large as the
mappings need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints
from npuc.compiler.explore.design.archive import Elites
from npuc.compiler.explore.design.budget import Budget
from npuc.compiler.explore.design.combine import Design, MachineSize
from npuc.compiler.explore.design.costs import Work, needs_of
from npuc.compiler.explore.design.energy import AccessEnergy
from npuc.compiler.explore.design.search import FoundDesign
from npuc.compiler.explore.design.task import DesignTask
from npuc.compiler.explore.mapping.capacity import BufferCapacity, Drawn, cut_to_sizes
from npuc.compiler.explore.mapping.genomes import Expression
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.mapping.vectors import VectorCode, reflected

MACHINE = 3
"""The coordinates of a machine."""
LEVELS = 2
OVER, BROKEN = 1e3, 2e3
"""What a point that is no machine within the area is worth at least, and one whose mappings cannot run."""
SAMPLE = 4096.0
"""Bytes of a buffer by which the area of a byte is found."""


@dataclass(frozen=True)
class Machines:
    """Machines of several points: sub-clusters of each level [level, point], the most bytes of an L1 and of the L2."""

    fanouts: Ints
    l1: Floats
    l2: Floats


@dataclass(frozen=True)
class Points:
    """
    Points that were evaluated. `values` are to be small: the logarithm of cycles, or how far a point is from any
    machine within the area; `known` the mappings of each contraction.
    """

    fanouts: Ints
    l1: Floats
    l2: Floats
    cycles: Floats
    energy: Floats
    area_mm2: Floats
    values: Floats
    known: tuple[Elites, ...]

    def design(self, row: int) -> FoundDesign | None:
        """A point as a design; None for one that is no machine within the area."""
        if self.values[row] >= OVER:
            return None
        size = MachineSize(tuple(map(int, self.fanouts[:, row])), int(self.l1[row]), int(self.l2[row]))
        own = tuple(one.at(np.array([row])) for one in self.known)
        sums = float(self.cycles[row]), float(self.energy[row]), float(self.area_mm2[row])
        return FoundDesign(Design(size, (0,) * len(own), *sums), own)


@dataclass(frozen=True)
class _Fitted(Expression):
    """Mappings that are cut to fit buffers which differ by mapping."""

    works: BufferCapacity
    l1: Floats
    l2: Floats

    def fit(self, drawn: Drawn) -> bool:
        cut_to_sizes(self.works, self.l1, self.l2, drawn)
        return True


@dataclass(frozen=True)
class DesignCode:
    """The vectors of designs for a task within an area, arrays [coordinate, point]."""

    task: DesignTask
    budget: Budget
    energy: AccessEnergy

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return MACHINE + sum(VectorCode(space).size - 1 for space in self.task.spaces)

    def evaluate(self, vectors: Floats) -> Points:
        """What points are worth."""
        machines, known, start = self.machines(vectors), list[Elites](), MACHINE
        for work, space in zip(self.task.works, self.task.spaces, strict=True):
            end = start + VectorCode(space).size - 1
            known.append(self._mapped(work, space, vectors[start:end], machines))
            start = end
        repeat = np.array([float(work.repeat) for work in self.task.works])[:, None]
        needs = [one.needs for one in known]
        with np.errstate(invalid="ignore"):
            cycles = (repeat * np.array([one.cycles for one in needs])).sum(axis=0)
            l1, l2 = (np.ceil(np.max([getattr(one, name) for one in needs], axis=0)) for name in ("l1", "l2"))
        broken = np.mean([~np.isfinite(one.l1 + one.l2) for one in needs], axis=0)
        fine = broken == 0
        l1, l2 = np.where(fine, l1, 1.0), np.where(fine, l2, 1.0)
        area = self.budget.model.of(machines.fanouts.prod(axis=0).astype(float), l1, l2)
        over = np.maximum(area / self.budget.limit_mm2 - 1, 0.0)
        values = np.where(fine, np.where(over > 0, OVER + np.log1p(over), np.log(np.where(fine, cycles, 1.0))), 0.0)
        values = np.where(fine, values, BROKEN + broken)
        spent = _energy(self.task.works, known, self.energy, l1, l2)
        return Points(machines.fanouts, l1, l2, cycles, spent, area, values, tuple(known))

    def machines(self, vectors: Floats) -> Machines:
        """The machines of points, whose buffers may be as large as the area allows."""
        budget, shares = self.budget, reflected(vectors[:MACHINE])
        least = float(max(work.least_l1 for work in self.task.works))
        elements = _logarithmic(shares[0], budget.most_elements(least))
        inside = _logarithmic(shares[1], elements)
        fanouts = np.array([elements // inside, inside]).astype(np.int64)
        count, model = fanouts.prod(axis=0).astype(float), budget.model
        base = model.base(count, np.full(len(count), least))
        a_byte = (model.base(count, np.full(len(count), least + SAMPLE)) - base) / SAMPLE
        most = least + np.maximum(budget.limit_mm2 - base, 0.0) / np.maximum(a_byte, 1e-30)
        l1 = np.floor(least * (most / least) ** shares[2])
        left = np.maximum(budget.limit_mm2 - model.base(count, l1), 0.0)
        l2 = np.floor(left / model.bank_mm2) * model.bank
        return Machines(fanouts, l1, np.maximum(l2, 1.0))

    def _mapped(self, work: Work, space: MapSpace, vectors: Floats, machines: Machines) -> Elites:
        count = vectors.shape[1]
        code = VectorCode(space)
        genomes = code.decode(np.concatenate([np.zeros((1, count)), vectors]))
        kinds = sorted({tuple(map(int, one)) for one in machines.fanouts.T})
        numbers = {one: number for number, one in enumerate(kinds)}
        chosen = np.array([numbers[tuple(map(int, one))] for one in machines.fanouts.T], np.int64)
        sums, width = float(work.sum_size), float(work.width)
        expression = _Fitted(
            replace(space, fanouts=tuple(kinds)),
            None,
            BufferCapacity(work.statements, None, None, sums, sums),
            np.floor(machines.l1 / width),
            np.floor(machines.l2 / width),
        )
        genomes = replace(genomes, chosen=chosen)
        candidates = expression.candidates(genomes)
        return Elites(genomes, candidates, needs_of(work, candidates, self.energy, buffered=False))


def _logarithmic(shares: Floats, most: Floats | int) -> Floats:
    """Whole numbers from 1 up, by their logarithms as shares of that of the largest."""
    return np.clip(np.floor(np.exp(shares * np.log(np.add(most, 1.0)))), 1.0, most)


def _energy(works: Sequence[Work], known: Sequence[Elites], energy: AccessEnergy, l1: Floats, l2: Floats) -> Floats:
    """MACs' worth of a step."""
    total = np.zeros(len(l1))
    for work, one in zip(works, known, strict=True):
        total += work.repeat * work.energy(one.needs, energy.costs(work.width, l1, l2))
    return total
