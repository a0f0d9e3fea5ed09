"""
Lower bounds of what mappings cost in mode exact, for mappings of which only the outer part is known.

A partial mapping has the widths of all levels (over how many sub-clusters each dimension is spread) and the tiles of
the outermost ones. However the rest is chosen, a step of a level takes as long as its work or its transfers, whichever
is longer, and the first step of a level takes both, since nothing overlaps before it. So the time is at least

    work        the steps one after another with their largest parts, as if the levels inside used all their elements,
                and the transfer of the first step each time that a level begins
    network     what the contraction reads, each element once, and the work of the first step
    clusters    the same of each step of the outermost level, whose tiles go through the network of a sub-cluster
    the rest    all outputs through the network and off chip, all inputs off chip

and the energy is at least that of all accesses where each element enters and leaves a buffer once, but for inputs that
come to the buffers of processing elements more often since these are small (`received`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, fsum, perm, prod

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.exact.contraction import Contraction
from npuc.compiler.analysis.mapping.exact.volumes import tile
from npuc.compiler.analysis.mapping.parity import AccessCosts, PeArray
from npuc.compiler.explore.mapping.best import Objective
from npuc.compiler.explore.mapping.received import ElementBuffers
from npuc.compiler.explore.mapping.space import MapSpace, widths_of

INPUTS = 2
"""The number of tensors that are read."""
MOST_SPREADS = 200_000
"""The number of choices of what levels spread up to which each has a bound of its own."""


@dataclass(frozen=True)
class CostBound:
    """
    Lower bounds for statements one after another on a machine; their dimensions are those of the space.

    `elements` are the buffers of the processing elements, of any size if None.
    """

    works: tuple[Contraction, ...]
    array: PeArray
    objective: Objective
    elements: ElementBuffers | None = None

    @cached_property
    def energy(self) -> float:
        """The energy, in MACs' worth, that no mapping is below."""
        return fsum(_energy(work, self.array.costs, self.elements) for work in self.works)

    def of(self, widths: Floats, tiles: Floats) -> Floats:
        """
        The objective that no mapping is below with these widths, [level, dimension, mapping], of every level, and these
        tiles (what a sub-cluster gets) of the outermost levels.
        """
        if self.objective == "energy":
            return np.full(widths.shape[2:], self.energy)
        time = self.time(widths, tiles)
        return time if self.objective == "time" else time * self.energy

    def time(self, widths: Floats, tiles: Floats) -> Floats:
        """The cycles that no mapping is below; arguments as of `of`."""
        time: Floats = np.zeros(widths.shape[2:])
        for work in self.works:
            time = time + _Partial(work, self.array, widths, tiles).time
        return time

    def of_space(self, space: MapSpace) -> float:
        """The objective that no mapping of a space is below."""
        if count_spreads(space) > MOST_SPREADS:
            time = fsum(_least_time(work, self.array, space) for work in self.works)
            return {"time": time, "energy": self.energy, "edp": time * self.energy}[self.objective]
        none = np.zeros((0, len(space.dims), 1))
        return min(
            float(self.of(widths, none.repeat(len(widths[0, 0]), axis=2)).min()) for _, widths in spread_choices(space)
        )


def count_spreads(space: MapSpace) -> int:
    """How many choices of clusters and of what each level spreads a space has, equal ones counted apart."""
    count, cut = 0, len(space.cut)
    for fanouts in space.fanouts:
        widths = (widths_of(fanout, space.parallel) for fanout in fanouts)
        count += prod(1 + sum(perm(cut, len(one)) for one in some) for some in widths)
    return count


def spread_choices(space: MapSpace) -> Iterator[tuple[tuple[int, ...], Floats]]:
    """The sub-clusters of all levels, each with all choices of widths, [level, dimension, choice]."""
    for fanouts in space.fanouts:
        found = np.ones((0, len(space.dims), 1))
        for level, fanout in enumerate(fanouts):
            spreads = space.spreads(level, fanout)
            rows = np.ones((len(space.dims), len(spreads)))
            for number, spread in enumerate(spreads):
                for dim, width in spread:
                    rows[dim, number] = width
            count = found.shape[-1]
            found = np.concatenate([found.repeat(len(spreads), axis=2), np.tile(rows, count)[None]])
        yield fanouts, found


def _least_time(work: Contraction, array: PeArray, space: MapSpace) -> float:
    """The cycles that no mapping is below, whatever is spread."""
    whole = np.array([[float(size)] for _, size in work.dims])
    read, written = float(_read(work, whole)[0]), float(tile(work, "O", whole)[0])
    most, begins = max(read, written), space.levels * float(_transfer(array, np.full(1, float(INPUTS)))[0])
    offchip = ceil(most * array.offchip_cycles / array.offchip_bw)
    return max(ceil(work.mac_passes / (array.num_pes * array.lanes)) + begins, ceil(most / array.noc_bw), offchip)


def _energy(work: Contraction, costs: AccessCosts, elements: ElementBuffers | None) -> float:
    whole = np.array([[float(size)] for _, size in work.dims])
    inputs, outputs = float(_read(work, whole)[0]), float(tile(work, "O", whole)[0])
    l2 = 2 * (inputs + outputs)
    received = inputs if elements is None else max(inputs, elements.least_received(work))
    l1 = 4 * work.macs + received
    # A millionth of a millionth, for sums that are rounded in another order.
    return (costs.l2 * l2 + costs.l1 * l1 + costs.offchip * (inputs + outputs) + work.mac_passes) * (1 - 1e-12)


@dataclass(frozen=True)
class _Partial:
    """Partial mappings of one statement; arrays are [level, dimension, mapping]."""

    work: Contraction
    array: PeArray
    widths: Floats
    tiles: Floats

    @property
    def time(self) -> Floats:
        """The cycles that no such mapping is below."""
        work, array = self.work, self.array
        read, written = _read(work, self._whole), tile(work, "O", self._whole)
        most = np.maximum(read, written)
        found = np.maximum(np.ceil(most / array.noc_bw), np.ceil(most * array.offchip_cycles / array.offchip_bw))
        passes = work.cycles(self._work(0, self._whole).prod(axis=0), array.lanes)
        found = np.maximum(found, passes + self._begins)
        if array.noc_latency < 1:  # transfers then take a cycle less than their elements
            return found
        found = np.maximum(found, np.ceil(read / array.noc_bw) + self._first_work)
        if len(self.tiles) and len(self.widths) > 1:
            cluster = np.ceil(_read(work, self._given(1)) / array.noc_bw) + 1
            found = np.maximum(found, self._full(0) * cluster + self._first(0))
        return found

    @cached_property
    def _whole(self) -> Floats:
        sizes = np.array([[float(size)] for _, size in self.work.dims])
        return np.broadcast_to(sizes, self.widths.shape[1:])

    @cached_property
    def _inside(self) -> list[Floats]:
        """Over how many elements the levels from each on spread a dimension."""
        return [self.widths[level:].prod(axis=0) for level in range(len(self.widths) + 1)]

    def _work(self, level: int, given: Floats) -> Floats:
        """The steps of a level by dimension, each as long as its largest part; the product is the level's work."""
        if level == len(self.tiles):
            return np.ceil(given / self._inside[level])
        step = np.minimum(self.tiles[level] * self.widths[level], given)
        more = np.ceil(given / step) - 1
        last = np.minimum(self.tiles[level], given - more * step)
        return more * self._work(level + 1, np.minimum(self.tiles[level], step)) + self._work(level + 1, last)

    def _given(self, level: int) -> Floats:
        """What a level is given that is given whole tiles; the tiles of all levels outside are known."""
        return self._whole if level == 0 else np.minimum(self.tiles[level - 1], self._given(level - 1))

    def _step(self, level: int) -> Floats:
        """The first step of such a level, or where its tiles are unknown the least that it can be."""
        known = self.tiles[level] if level < len(self.tiles) else 1.0
        return np.minimum(known * self.widths[level], self._given(level))

    def _full(self, level: int) -> Floats:
        """How many steps of such a level are as large as the first."""
        return np.floor(self._given(level) / self._step(level)).prod(axis=0)

    def _first(self, level: int) -> Floats:
        """The transfer of the first step of such a level; of levels further inside that of an element a tensor."""
        if level > len(self.tiles):
            return self._least
        return _transfer(self.array, _read(self.work, self._step(level)))

    @property
    def _least(self) -> Floats:
        """The transfer of an element of each tensor that is read."""
        return _transfer(self.array, np.full(self.widths.shape[2:], float(INPUTS)))

    @property
    def _begins(self) -> Floats:
        """The transfers of first steps, each time that a level begins."""
        levels, known = len(self.widths), len(self.tiles)
        total, times = self._first(0), np.ones(self.widths.shape[2:])
        for level in range(1, levels):
            if level <= known:
                times = times * self._full(level - 1)
            total = total + times * self._first(level)
        if known and levels > 1:
            steps = np.ceil(self._whole / self._step(0)).prod(axis=0)
            total = total + (steps - self._full(0)) * (levels - 1) * self._least
        return total

    @property
    def _first_work(self) -> Floats:
        """The work of the first step of the outermost level, transfers inside of it included."""
        work: Floats = np.ones(self.widths.shape[2:])
        if len(self.tiles):
            work = self.work.cycles(self._work(1, self._given(1)).prod(axis=0), self.array.lanes)
        for level in range(1, len(self.widths)):
            work = work + self._first(level)
        return work


def _read(work: Contraction, sizes: Floats) -> Floats:
    return tile(work, "I", sizes) + tile(work, "W", sizes)


def _transfer(array: PeArray, volume: Floats) -> Floats:
    return np.maximum(array.noc_latency + np.ceil(volume / array.noc_bw) - 1, 0.0)
