"""
Walks of scheduled nests, tile by tile, and the iterations of their loops.

Iterations are generated in chunks, as one numpy array per dimension.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from math import prod

import numpy as np

from npuc.compiler.analysis.nest.blocks import Ints
from npuc.compiler.analysis.nest.elements import Bits
from npuc.dialects.npu.nest import Nest, Schedule

CHUNK = 1 << 15
"""The number of tile operations of a chunk."""


@dataclass(frozen=True)
class Split:
    """A partition over time: the tiles of a dimension in `parts` runs, as even as possible, longer runs first."""

    dim: str
    parts: int


@dataclass(frozen=True)
class Walk:
    """
    A nest whose tiles are walked in the order of its schedule; `keep` and `spm` of the schedule are ignored.

    `values` identify the value of each tensor, so that walks can share tensors; by default the names do. `split` adds
    an outermost loop over parts of a dimension.
    """

    nest: Nest
    schedule: Schedule
    widths: Bits
    values: tuple[Hashable, ...] = ()
    split: Split | None = None

    @property
    def operations(self) -> int:
        """The number of tile operations: one for each statement and iteration of all loops."""
        tiles = (len(_cut(size, _steps(self.schedule, dim), None).lows) for dim, size in self.nest.dims)
        return prod(tiles) * len(self.nest.statements)

    @property
    def value_of(self) -> dict[str, Hashable]:
        """The value of each tensor, by name."""
        return dict(zip(self.nest.tensors, self.values or tuple(self.nest.tensors), strict=True))


def _steps(schedule: Schedule, dim: str) -> tuple[int, ...]:
    return tuple(loop.step for loop in schedule.loops if loop.dim == dim)


@dataclass(frozen=True)
class CutDim:
    """
    A dimension tiled by nested loops: its innermost intervals in order.

    For each loop, `counts` are the numbers of iterations within each iteration of the enclosing loop, and `firsts` the
    index of the first one.
    """

    lows: list[int]
    extents: list[int]
    counts: list[Ints]
    firsts: list[Ints]


@lru_cache(maxsize=256)
def _cut(size: int, steps: tuple[int, ...], split: Split | None) -> CutDim:
    nodes = [(0, size)]
    counts: list[Ints] = []

    def next_level(parts: list[list[tuple[int, int]]]) -> None:
        nonlocal nodes
        counts.append(np.array([len(p) for p in parts], dtype=np.int64))
        nodes = [node for part in parts for node in part]

    if split is not None:
        tile = min(steps, default=size)
        tiles = -(-size // tile)
        share, more = divmod(tiles, split.parts)
        ends = [min(size, tile * (share * n + min(n, more))) for n in range(split.parts + 1)]
        next_level([[(low, high - low) for low, high in pairwise(ends) if high > low]])
    for step in steps:
        next_level([[(at, min(step, low + n - at)) for at in range(low, low + n, step)] for low, n in nodes])
    firsts = [np.cumsum(count) - count for count in counts]
    return CutDim([low for low, _ in nodes], [n for _, n in nodes], counts, firsts)


@dataclass
class Loops:
    """
    The loops of a walk: the tiling of each dimension, and the dimensions of the loops, outermost first.

    Walks with equal loops share them: nothing of them is changed.
    """

    dims: dict[str, CutDim]
    order: list[str]
    known: list[dict[str, Ints]] = field(default_factory=list[dict[str, Ints]])
    """The chunk of all iterations, once it is known that there is only one."""

    def iterations(self) -> Iterator[dict[str, Ints]]:
        """The iterations of all loops: the interval's number for each dimension."""
        if self.known:
            yield from self.known
            return
        found = self.chunks()
        first = next(found)
        second = next(found, None)
        if second is None:
            self.known.append(first)
        yield first
        if second is not None:
            yield second
        yield from found

    def chunks(self, among: frozenset[str] | None = None) -> Iterator[dict[str, Ints]]:
        """The iterations of all loops, or of those over some dimensions: the interval's number for each dimension."""
        order = [d for d in self.order if among is None or d in among]
        levels = [order[:n].count(d) for n, d in enumerate(order)]
        most = [int(self.dims[d].counts[level].max()) for d, level in zip(order, levels, strict=True)]
        yield from self._inner(
            list(zip(order, levels, most, strict=True)), {d: np.zeros(1, np.int64) for d in self.dims}
        )

    def _inner(self, loops: list[tuple[str, int, int]], at: dict[str, Ints]) -> Iterator[dict[str, Ints]]:
        rows = len(next(iter(at.values())))
        for number, (dim, level, _) in enumerate(loops):
            inside = prod(most for *_, most in loops[number:])
            if rows > 1 and rows * inside > CHUNK:
                some = max(1, CHUNK // inside)
                for low in range(0, rows, some):
                    yield from self._inner(loops[number:], {d: a[low : low + some] for d, a in at.items()})
                return
            counts, firsts = self.dims[dim].counts[level][at[dim]], self.dims[dim].firsts[level][at[dim]]
            outer = np.repeat(np.arange(rows), counts)
            own = np.arange(len(outer)) - np.repeat(np.cumsum(counts) - counts, counts) + firsts[outer]
            at = {d: own if d == dim else a[outer] for d, a in at.items()}
            rows = len(outer)
        yield at


def loops_of(walk: Walk) -> Loops:
    """The loops of a walk."""
    return _loops(walk.nest.dims, tuple((loop.dim, loop.step) for loop in walk.schedule.loops), walk.split)


@lru_cache(maxsize=32)
def _loops(sizes: tuple[tuple[str, int], ...], loops: tuple[tuple[str, int], ...], split: Split | None) -> Loops:
    """The loops over some dimensions, each with its step; few are kept, as their iterations are large."""
    dims = {
        dim: _cut(
            size,
            tuple(step for own, step in loops if own == dim),
            split if split is not None and split.dim == dim else None,
        )
        for dim, size in sizes
    }
    return Loops(dims, [*([] if split is None else [split.dim]), *(dim for dim, _ in loops)])
