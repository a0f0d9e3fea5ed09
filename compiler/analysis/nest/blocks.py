"""
Where the blocks of a scheduled nest are moved, and how many elements they have.

For a tensor the loops outside its kept block are `outer`. Its block changes only when a loop that indexes it steps,
so the loops at the inner end of `outer` that do not index it, or that never take a second trip, are dropped: what
remains is the *load depth*, and a visit of one iteration of it moves one block. The elements of a block are a
product over the axes of the tensor, since no dimension occurs in two of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from npuc.dialects.npu.footprint import positions
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Tensor

Kind = Literal["input", "accumulator", "start"]
Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True)
class Stream:
    """
    A tensor that moves between DRAM and SPM, and the loops (positions in the schedule) whose steps move it.

    A start tensor moves in the first iteration of the loops that do not index its output, so that only the others
    appear. `out` is the output that a start belongs to, else the tensor itself.
    """

    tensor: Tensor
    kind: Kind
    loops: tuple[int, ...]
    out: Tensor

    @property
    def depth(self) -> int:
        """One more than the innermost loop that moves this tensor; 0 when it is moved once."""
        return self.loops[-1] + 1 if self.loops else 0


def max_trips(nest: Nest, loops: tuple[Loop, ...]) -> tuple[int, ...]:
    """The largest number of iterations of each loop."""
    extent = dict(nest.sizes)
    trips: list[int] = []
    for loop in loops:
        trips.append(-(-extent[loop.dim] // loop.step))
        extent[loop.dim] = loop.step
    return tuple(trips)


def streams(nest: Nest, schedule: Schedule) -> tuple[Stream, ...]:
    """How every tensor of a nest moves: inputs, then outputs, then starts."""
    trips = max_trips(nest, schedule.loops)

    def moved(tensor: Tensor, among: frozenset[str] | None) -> tuple[int, ...]:
        outer = [
            p
            for p in range(len(schedule.loops) - schedule.keep_depth(tensor.name))
            if among is None or schedule.loops[p].dim in among
        ]
        while outer and (
            trips[outer[-1]] == 1
            or (schedule.loops[outer[-1]].dim not in tensor.dims and outer[-1] >= schedule.core_depth)
        ):
            outer.pop()
        return tuple(outer)

    inputs = [Stream(t, "input", moved(t, None), t) for t in nest.ins]
    outputs = [Stream(t, "accumulator", moved(t, None), t) for t in nest.outs]
    starts = [
        Stream(s, "start", moved(s, out.dims), out)
        for out, s in zip(nest.outs, nest.starts, strict=True)
        if s is not None
    ]
    return (*inputs, *outputs, *starts)


@lru_cache(maxsize=65536)
def lengths(size: int, steps: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The (length, count) pairs of the intervals that nested loops of these steps cut [0, size) into."""
    counts = {size: 1}
    for step in steps:
        inner: dict[int, int] = {}
        for length, count in counts.items():
            whole, rest = divmod(length, step)
            if whole:
                inner[step] = inner.get(step, 0) + whole * count
            if rest:
                inner[rest] = inner.get(rest, 0) + count
        counts = inner
    return tuple(counts.items())


def group_lengths(nest: Nest, schedule: Schedule, dims: tuple[str, ...]) -> dict[int, int]:
    """How many tiles of a group of dimensions have each size (the product of its dimensions' extents)."""
    counts = {1: 1}
    for dim in dims:
        steps = tuple(loop.step for loop in schedule.loops if loop.dim == dim)
        joined: dict[int, int] = {}
        for size, count in counts.items():
            for length, more in lengths(nest.sizes[dim], steps):
                joined[size * length] = joined.get(size * length, 0) + count * more
        counts = joined
    return counts


def interval_count(size: int, steps: tuple[int, ...]) -> int:
    """The number of those intervals."""
    return sum(count for _, count in lengths(size, steps))


def intervals(size: int, steps: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Those intervals themselves, as (first index, length), in the order in which they are visited."""
    if not steps:
        yield 0, size
        return
    for low in range(0, size, steps[0]):
        length = min(steps[0], size - low)
        for inner, extent in intervals(length, steps[1:]):
            yield low + inner, extent


def is_plain(axis: Axis) -> bool:
    """Whether the axis is one dimension as it stands: its tiles then partition it."""
    return len(axis.terms) == 1 and axis.terms[0][1] == 1 and axis.offset == 0


def touched(tensor: Tensor, sizes: Mapping[str, int]) -> int:
    """The number of distinct elements of a tensor that its index map reaches over the whole nest."""
    product = 1
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        if is_plain(axis):
            product *= size
        else:
            mask = positions(tuple((c, sizes[d]) for d, c in axis.terms))
            product *= inside(mask, axis.offset, size).bit_count()
    return product


def inside(mask: int, base: int, size: int) -> int:
    """The part of a set of positions, moved by `base`, that lies in [0, size)."""
    moved = mask << base if base >= 0 else mask >> -base
    return moved & ((1 << size) - 1)


@dataclass(frozen=True)
class CutDimension:
    """A dimension cut by nested loops; only intervals of at most `limit` count (None: all)."""

    size: int
    steps: tuple[int, ...]
    limit: int | None = None


@lru_cache(maxsize=65536)
def axis_sum(axis: Axis, size: int, cuts: tuple[CutDimension, ...]) -> int:
    """
    The sum over all tiles of an axis, one interval of each of its dimensions, of the distinct positions inside [0,
    size).

    `cuts` are in the order of the axis' terms. One dimension as it stands needs no walk: its intervals partition
    it. Any other axis takes a table over its own tiles.
    """
    if is_plain(axis):
        (cut,) = cuts
        return sum(
            length * count for length, count in lengths(cut.size, cut.steps) if cut.limit is None or length <= cut.limit
        )
    classes = [_by_length(cut) for cut in cuts]
    total = 0
    for combination in _products(classes):
        bases = np.array([axis.offset])
        extents: list[tuple[int, int]] = []
        for (_, coefficient), (length, lows) in zip(axis.terms, combination, strict=True):
            bases = (bases[:, None] + coefficient * lows[None, :]).ravel()
            extents.append((coefficient, length))
        below = _prefix(tuple(extents))
        top = len(below) - 1
        total += int((below[np.clip(size - bases, 0, top)] - below[np.clip(-bases, 0, top)]).sum())
    return total


def _by_length(cut: CutDimension) -> list[tuple[int, Ints]]:
    lows: dict[int, list[int]] = {}
    for low, length in intervals(cut.size, cut.steps):
        if cut.limit is None or length <= cut.limit:
            lows.setdefault(length, []).append(low)
    return [(length, np.array(at, dtype=np.int64)) for length, at in lows.items()]


def _products(classes: list[list[tuple[int, Ints]]]) -> Iterator[tuple[tuple[int, Ints], ...]]:
    if not classes:
        yield ()
        return
    for first in classes[0]:
        for rest in _products(classes[1:]):
            yield (first, *rest)


@lru_cache(maxsize=4096)
def _prefix(extents: tuple[tuple[int, int], ...]) -> Ints:
    """How many positions of a set lie below 0, 1, 2, … up to its end."""
    mask = positions(extents)
    bits = np.unpackbits(
        np.frombuffer(mask.to_bytes(mask.bit_length() // 8 + 1, "little"), dtype=np.uint8), bitorder="little"
    )
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(bits, dtype=np.int64)])
