"""
The blocks along the axes of tensors that walks reach: numbers for equal ones, and how often each is visited.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count as count_from
from math import prod

import numpy as np

from npuc.compiler.analysis.lru.loops import CutDim, Loops
from npuc.compiler.analysis.nest.blocks import Ints, inside, is_plain
from npuc.dialects.npu.footprint import positions
from npuc.dialects.npu.nest import Axis
from npuc.dialects.npu.widths import Width


@dataclass
class AxisBlocks:
    """
    The blocks along one axis of a tensor by their positions, of all walks: element counts, and the positions as a bit
    mask where the axis is not a plain dimension.
    """

    size: int
    known: dict[tuple[int, int] | int, int] = field(default_factory=dict[tuple[int, int] | int, int])
    counts: list[int] = field(default_factory=list[int])
    masks: list[int] = field(default_factory=list[int])
    cuts: list[tuple[CutDim, Ints]] = field(default_factory=list[tuple[CutDim, Ints]])
    """The tilings of a dimension that have been here already, each with the numbers of its blocks."""
    first: CutDim | None = None
    """The tiling whose blocks are the first ones, while they are not in `known`."""

    def number(self, axis: Axis, lows: Mapping[str, int], extents: Mapping[str, int]) -> int:
        """The number of the block that these intervals of the dimensions reach, of an axis that is not plain."""
        base = axis.offset + sum(c * lows[d] for d, c in axis.terms)
        mask = inside(positions(tuple((c, extents[d]) for d, c in axis.terms)), base, self.size)
        low, count = (mask & -mask).bit_length() - 1, mask.bit_count()
        # Positions without gaps are known by the first and their number, as those of a plain dimension.
        found = self._numbered((low, count) if mask >> max(0, low) == (1 << count) - 1 else mask, count)
        self.masks[found] |= mask
        return found

    def intervals(self, cut: CutDim) -> Ints:
        """The numbers of the blocks that the intervals of a dimension are, of a plain axis."""
        for own, found in self.cuts:
            if own is cut:
                return found
        if self.counts:
            pairs = zip(cut.lows, cut.extents, strict=True)
            found = np.array([self._numbered(pair, pair[1]) for pair in pairs], dtype=np.int64)
        else:
            # Most axes are never cut otherwise: the blocks are looked up by their positions only then.
            self.counts, self.masks = cut.extents.copy(), [0] * len(cut.lows)
            found = np.arange(len(cut.lows), dtype=np.int64)
            self.first = cut
        self.cuts.append((cut, found))
        return found

    def _numbered(self, key: tuple[int, int] | int, count: int) -> int:
        if self.first is not None:
            self.known.update(zip(zip(self.first.lows, self.first.extents, strict=True), count_from(0), strict=False))
            self.first = None
        found = self.known.setdefault(key, len(self.counts))
        if found == len(self.counts):
            self.counts.append(count)
            self.masks.append(0)
        return found


@dataclass
class PoolValue:
    """
    A tensor of the walks, as an operand or as a sum, which are distinguished. `first` is the number of its tile 0.

    An element has `width` bits in the pool, for a sum those of a partial sum, and `final` bits when it is complete.
    """

    number: int
    output: bool
    width: Width
    final: Width
    blocks: list[AxisBlocks]
    first: int = 0

    @property
    def strides(self) -> list[int]:
        """The strides of the tile number along the axes."""
        return [prod(len(b.counts) for b in self.blocks[n + 1 :]) for n in range(len(self.blocks))]

    @property
    def tiles(self) -> int:
        """The number of tiles."""
        return prod(len(b.counts) for b in self.blocks)


@dataclass
class AxisUse:
    """
    One axis of a tensor in a walk: the block of each combination of intervals (`table`), and of each of its `blocks`
    the number of visits, the elements that are new in it, and those that no later block has.
    """

    dims: tuple[tuple[str, int], ...]
    """The dimensions, each with the stride of its interval number in the combination's number."""
    table: Ints
    blocks: Ints
    times: Ints
    fresh: Ints
    final: Ints


def use_of(loops: Loops, axis: Axis, blocks: AxisBlocks) -> AxisUse:
    """The blocks that a walk with these loops visits along one axis of a tensor; new ones are added to `blocks`."""
    dims: list[tuple[str, int]] = []
    combinations = 1
    for d in axis.dims:
        dims.append((d, combinations))
        combinations *= len(loops.dims[d].lows)
    if is_plain(axis):
        return _plain_use(loops, tuple(dims), blocks)
    table = np.zeros(combinations, dtype=np.int64)
    times, fresh, final = dict[int, int](), dict[int, int](), dict[int, int]()
    reached = 0
    visited: list[int] = []
    for at in loops.chunks(frozenset(axis.dims)):
        for intervals in zip(*(at[d].tolist() for d, _ in dims), strict=True) if dims else [()]:
            chosen = dict(zip(axis.dims, intervals, strict=True))
            lows = {d: loops.dims[d].lows[n] for d, n in chosen.items()}
            block = blocks.number(axis, lows, {d: loops.dims[d].extents[n] for d, n in chosen.items()})
            table[sum(chosen[d] * stride for d, stride in dims)] = block
            times[block] = times.get(block, 0) + 1
            visited.append(block)
            if block not in fresh:
                fresh[block] = (blocks.masks[block] & ~reached).bit_count()
                reached |= blocks.masks[block]
    after = 0
    for block in dict.fromkeys(reversed(visited)):
        final[block] = (blocks.masks[block] & ~after).bit_count()
        after |= blocks.masks[block]
    numbers = list(times)
    columns = (np.array([one[block] for block in numbers], dtype=np.int64) for one in (times, fresh, final))
    return AxisUse(tuple(dims), table, np.array(numbers, dtype=np.int64), *columns)


def _plain_use(loops: Loops, dims: tuple[tuple[str, int], ...], blocks: AxisBlocks) -> AxisUse:
    """One dimension, whose intervals are visited once each and have no position in common."""
    ((dim, _),) = dims
    own = loops.dims[dim]
    found, extents = blocks.intervals(own), np.array(own.extents, dtype=np.int64)
    return AxisUse(dims, found, found, np.ones_like(found), extents, extents)


def overlap(blocks: AxisBlocks) -> bool:
    """Whether some blocks of an axis have positions in common."""
    reached = 0
    for mask in blocks.masks:
        reached |= mask
    return any(blocks.masks) and sum(blocks.counts) > reached.bit_count()
