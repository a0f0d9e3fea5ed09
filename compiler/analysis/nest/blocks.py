"""
The blocks of a scheduled nest: which loops move them, and how many elements they have.

The `outer` loops of a tensor are those outside its resident block. The block changes only when a loop that indexes the
tensor steps, so the innermost `outer` loops that do not index it, or take a single trip, are dropped: the remaining
loops are its *load depth*, and each of their iterations moves one block. The elements of a block are a product over the
axes of the tensor, since no dimension occurs in two axes.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.footprint import positions
from npuc.dialects.npu.nest import Axis, Loop, Nest, Schedule, Tensor

Kind = Literal["input", "accumulator", "start"]
Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


@frozen
class Stream:
    """
    A tensor that moves between DRAM and SPM, and the loops (positions in the schedule) whose steps move it.

    The initial value of a sum ("start") moves in the first iteration of the loops that do not index its output, so that
    only the other loops appear. `out` is the output of that sum; for other tensors the tensor itself.
    """

    tensor: Tensor
    kind: Kind
    loops: tuple[int, ...]
    out: Tensor

    @property
    def depth(self) -> int:
        """The number of loops down to the innermost one that moves this tensor; 0 if it is moved once."""
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
    """The streams of all tensors of a nest: inputs, then outputs, then initial values."""
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
    """The intervals into which nested loops of these steps divide [0, size), as (length, count) pairs."""
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
    """The number of tiles of a group of dimensions by tile size (the product of its dimensions' extents)."""
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
    """The number of intervals into which nested loops of these steps divide [0, size)."""
    return sum(count for _, count in lengths(size, steps))


def intervals(size: int, steps: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """The intervals into which nested loops divide [0, size), as (first index, length), in the order of visits."""
    if not steps:
        yield 0, size
        return
    for low in range(0, size, steps[0]):
        length = min(steps[0], size - low)
        for inner, extent in intervals(length, steps[1:]):
            yield low + inner, extent


def is_plain(axis: Axis) -> bool:
    """Whether the axis is a single dimension without stride or offset, so that its tiles partition it."""
    return len(axis.terms) == 1 and axis.terms[0][1] == 1 and axis.offset == 0


def touched(tensor: Tensor, sizes: Mapping[str, int]) -> int:
    """The number of distinct elements of a tensor that its index map reaches in the whole nest."""
    product = 1
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        if is_plain(axis):
            product *= size
        else:
            mask = positions(tuple((c, sizes[d]) for d, c in axis.terms))
            product *= inside(mask, axis.offset, size).bit_count()
    return product


def inside(mask: int, base: int, size: int) -> int:
    """A set of positions shifted by `base`, restricted to [0, size); sets are bit masks."""
    moved = mask << base if base >= 0 else mask >> -base
    return moved & ((1 << size) - 1)


@frozen
class TiledDimension:
    """A dimension tiled by nested loops; only intervals of length at most `limit` count (None: all)."""

    size: int
    steps: tuple[int, ...]
    limit: int | None = None


@lru_cache(maxsize=65536)
def axis_sum(axis: Axis, size: int, cuts: tuple[TiledDimension, ...]) -> int:
    """
    The distinct positions inside [0, size) of a tile of an axis, summed over all its tiles. A tile is one interval of
    each dimension of the axis.

    `cuts` are in the order of the axis' terms. A plain axis needs no enumeration, as its intervals partition it; any
    other axis takes a table over its own tiles.
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


def _by_length(cut: TiledDimension) -> list[tuple[int, Ints]]:
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
    """The number of positions of a set below 0, 1, 2, … up to its end."""
    mask = positions(extents)
    bits = np.unpackbits(
        np.frombuffer(mask.to_bytes(mask.bit_length() // 8 + 1, "little"), dtype=np.uint8), bitorder="little"
    )
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(bits, dtype=np.int64)])
