"""
The tile operations of scheduled nests one by one, with numbers for the tiles that they touch.

A tile is a block of a tensor: along each axis the positions that the intervals of its dimensions reach in one tile
operation. Blocks of equal positions are one tile, in whichever walk they occur; blocks that only overlap (halos of
windows, or two tilings of the same tensor) are different tiles. Operations are generated in order, in chunks of numpy
arrays; costs of tiles are looked up in tables over the axes, so that nothing is computed twice for an operation.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import prod

import numpy as np

from npuc.compiler.analysis.lru.folds import Folds, Operation, folds_of, stationary
from npuc.compiler.analysis.lru.loops import Loops, Walk, loops_of
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.stationary import members, placement
from npuc.compiler.analysis.nest.blocks import Ints, inside, is_plain
from npuc.dialects.npu.footprint import positions
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Axis, Nest, Statement
from npuc.dialects.npu.widths import Width


@dataclass
class _AxisBlocks:
    """
    The blocks along one axis of a tensor by their positions, of all walks: element counts, and the positions as a bit
    mask where the axis is not a plain dimension.
    """

    size: int
    known: dict[tuple[int, int] | int, int] = field(default_factory=dict[tuple[int, int] | int, int])
    counts: list[int] = field(default_factory=list[int])
    masks: list[int] = field(default_factory=list[int])

    def number(self, axis: Axis, lows: Mapping[str, int], extents: Mapping[str, int]) -> int:
        """The number of the block that these intervals of the dimensions reach, of an axis that is not plain."""
        base = axis.offset + sum(c * lows[d] for d, c in axis.terms)
        mask = inside(positions(tuple((c, extents[d]) for d, c in axis.terms)), base, self.size)
        low, count = (mask & -mask).bit_length() - 1, mask.bit_count()
        # Positions without gaps are known by the first and their number, as those of a plain dimension.
        found = self._numbered((low, count) if mask >> max(0, low) == (1 << count) - 1 else mask, count)
        self.masks[found] |= mask
        return found

    def interval(self, low: int, count: int) -> int:
        """The number of the block of so many positions from the first one on, of a plain axis."""
        return self._numbered((low, count), count)

    def _numbered(self, key: tuple[int, int] | int, count: int) -> int:
        found = self.known.setdefault(key, len(self.counts))
        if found == len(self.counts):
            self.counts.append(count)
            self.masks.append(0)
        return found


@dataclass
class _Value:
    """
    A tensor of the walks, as an operand or as a sum, which are distinguished. `first` is the number of its tile 0.

    An element has `width` bits in the pool, for a sum those of a partial sum, and `final` bits when it is complete.
    """

    number: int
    output: bool
    width: Width
    final: Width
    blocks: list[_AxisBlocks]
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
class _Use:
    """
    One axis of a tensor in a walk: the block of each combination of intervals (`table`), and per block the number of
    visits, the elements that are new in it, and those that no later block has.
    """

    dims: tuple[tuple[str, int], ...]
    """The dimensions, each with the stride of its interval number in the combination's number."""
    table: Ints
    times: dict[int, int]
    fresh: dict[int, int]
    final: dict[int, int]


class PoolTiles:
    """
    The tiles of some walks: `sizes` in bits, `value_of` the number of the tensor.

    For a tile of a sum, `visits` is the number of operations that add to it, `prior` the bits that its first visit
    reads from DRAM, written by earlier overlapping tiles, and `done` the bits that are written after its last
    operation, where elements shared with later tiles are partial sums. For a tile of an operand `prior` is its size.
    """

    def __init__(self, walks: Sequence[Walk], array: Array):
        self.array = array
        self.values: dict[tuple[Hashable, bool], _Value] = {}
        self.loops = [loops_of(walk) for walk in walks]
        self.walks = walks
        self.uses = [self._prepare(walk, loops) for walk, loops in zip(walks, self.loops, strict=True)]
        self.readers = [0] * len(self.values)
        for walk in walks:
            for name in (name for s in walk.nest.statements for name in (s.lhs, s.rhs)):
                self.readers[self.value(walk, name).number] += 1
        self._neighbours: dict[int, list[int]] = {}
        self.sizes: list[int] = []
        self.value_of: list[int] = []
        for value in self.values.values():
            value.first = len(self.sizes)
            sizes = _products([np.array(b.counts, dtype=np.int64) for b in value.blocks]) * value.width
            self.sizes += sizes.tolist()
            self.value_of += [value.number] * value.tiles
        self.visits, self.prior, self.done = [0] * len(self.sizes), self.sizes.copy(), self.sizes.copy()
        self.finished = [0] * len(self.sizes)
        for walk, loops, uses in zip(walks, self.loops, self.uses, strict=True):
            for out in walk.nest.outs:
                self._count_visits(self.value(walk, out.name), uses[out.name], loops)

    def value(self, walk: Walk, name: str) -> _Value:
        """The tensor of this name in a walk."""
        output = any(t.name == name for t in walk.nest.outs)
        return self.values[(walk.value_of[name], walk.nest.tensors[name].shape), output]

    def _prepare(self, walk: Walk, loops: Loops) -> dict[str, list[_Use]]:
        outputs = {t.name for t in walk.nest.outs}
        result: dict[str, list[_Use]] = {}
        sums, stored = walk.widths.with_sums(walk.nest), walk.widths.by_name(walk.nest)
        for name, tensor in walk.nest.tensors.items():
            key = (walk.value_of[name], tensor.shape), name in outputs
            again = key in self.values and name in outputs
            if key not in self.values:
                blocks = [_AxisBlocks(size) for size in tensor.shape]
                self.values[key] = _Value(len(self.values), name in outputs, sums[name], stored[name], blocks)
            blocks = self.values[key].blocks
            before = [len(b.counts) for b in blocks]
            result[name] = [_use(loops, axis, b) for axis, b in zip(tensor.axes, blocks, strict=True)]
            if again and (before != [len(b.counts) for b in blocks] or not all(map(is_plain, tensor.axes))):
                raise ValueError(f"{name} is the sum of two walks in different or overlapping tiles")
        return result

    def _count_visits(self, value: _Value, uses: list[_Use], loops: Loops) -> None:
        if not value.tiles:
            return
        own = {d for use in uses for d, _ in use.dims}
        others = prod(len(cut.lows) for d, cut in loops.dims.items() if d not in own)
        arrays = [np.zeros((3, len(b.counts)), dtype=np.int64) for b in value.blocks]
        for use, array in zip(uses, arrays, strict=True):
            for block, times in use.times.items():
                array[:, block] = times, use.fresh[block], use.final[block]
        visits, fresh, final = ((_products([a[row] for a in arrays])).tolist() for row in range(3))
        for n, (count, new, ended) in enumerate(zip(visits, fresh, final, strict=True), value.first):
            if not self.visits[n]:
                self.prior[n] = self.sizes[n] - new * value.width
            self.visits[n] += count * others
            self.finished[n] = ended
            self.done[n] = self.sizes[n] - ended * (value.width - value.final)

    def operations(self, number: int) -> Iterator[Operation]:
        """The operations of a walk in order; an operand that other statements use too comes first."""
        walk, loops, uses = self.walks[number], self.loops[number], self.uses[number]
        nest = walk.nest
        extents = {d: np.array(cut.extents, dtype=np.int64) for d, cut in loops.dims.items()}
        tables = {
            name: [use.table * stride for use, stride in zip(uses[name], self.value(walk, name).strides, strict=True)]
            for name in nest.tensors
        }
        for at in loops.chunks():
            sizes = {d: extents[d][a] for d, a in at.items()}
            rows = len(next(iter(at.values())))
            tiles: dict[str, list[int]] = {}
            for name in nest.tensors:
                column = np.full(rows, self.value(walk, name).first)
                for use, table in zip(uses[name], tables[name], strict=True):
                    column += table[sum((at[d] * stride for d, stride in use.dims), np.zeros(rows, np.int64))]
                tiles[name] = column.tolist()
            statements: list[Iterator[Operation]] = []
            for s in nest.statements:
                start = nest.start_of(s.out)
                begin = [-1] * rows if start is None else tiles[start.name]
                first, second = sorted((s.lhs, s.rhs), key=lambda n: self.readers[self.value(walk, n).number] < 2)
                cycles = _cycles(nest, s, self.array, sizes, rows).tolist()
                statements.append(zip(tiles[first], tiles[second], begin, tiles[s.out], cycles, strict=True))
            yield from statements[0] if len(statements) == 1 else chain.from_iterable(zip(*statements, strict=True))

    def folds(self, number: int, *, alone: bool) -> Iterator[Folds]:
        """
        The folds of each operation of a walk, on an array with overlapping groups; `alone`: no other walk in turn.
        """
        walk, loops = self.walks[number], self.loops[number]
        joins = alone and len(walk.nest.statements) == 1
        extents = {d: np.array(cut.extents, dtype=np.int64) for d, cut in loops.dims.items()}
        counts = {d: len(cut.lows) for d, cut in loops.dims.items()}
        for at in loops.chunks():
            sizes = {d: extents[d][a] for d, a in at.items()}
            rows = len(next(iter(at.values())))
            statements: list[Iterator[Folds]] = []
            for s in walk.nest.statements:
                *columns, single = folds_of(walk.nest, s, self.array, sizes, rows)
                tile = stationary(walk.nest, s, self.array, at, counts, rows) if joins else np.full(rows, -1)
                columns = [column.tolist() for column in (*columns, np.where(single, tile, -1))]
                statements.append(map(Folds, *columns))
            yield from chain.from_iterable(zip(*statements, strict=True))

    def overlapping(self, tile: int) -> list[int]:
        """The other tiles of the same sum that share elements with a tile."""
        found = self._neighbours.get(tile)
        if found is None:
            value = next(v for v in self.values.values() if v.first <= tile < v.first + v.tiles)
            rest, reach = tile - value.first, [value.first]
            for blocks, stride in zip(value.blocks, value.strides, strict=True):
                own, rest = divmod(rest, stride)
                meets = [n for n, mask in enumerate(blocks.masks) if n == own or mask & blocks.masks[own]]
                reach = [r + n * stride for r in reach for n in meets]
            found = self._neighbours[tile] = [r for r in reach if r != tile]
        return found

    @property
    def overlaps(self) -> frozenset[int]:
        """The numbers of the sums whose tiles share elements."""
        return frozenset(v.number for v in self.values.values() if v.output and any(map(_overlap, v.blocks)))


def _use(loops: Loops, axis: Axis, blocks: _AxisBlocks) -> _Use:
    dims: list[tuple[str, int]] = []
    combinations = 1
    for d in axis.dims:
        dims.append((d, combinations))
        combinations *= len(loops.dims[d].lows)
    if is_plain(axis):
        return _plain_use(loops, tuple(dims), blocks)
    use = _Use(tuple(dims), np.zeros(combinations, dtype=np.int64), {}, {}, {})
    reached = 0
    visited: list[int] = []
    for at in loops.chunks(frozenset(axis.dims)):
        for intervals in zip(*(at[d].tolist() for d, _ in dims), strict=True) if dims else [()]:
            chosen = dict(zip(axis.dims, intervals, strict=True))
            lows = {d: loops.dims[d].lows[n] for d, n in chosen.items()}
            block = blocks.number(axis, lows, {d: loops.dims[d].extents[n] for d, n in chosen.items()})
            use.table[sum(chosen[d] * stride for d, stride in dims)] = block
            use.times[block] = use.times.get(block, 0) + 1
            visited.append(block)
            if block not in use.fresh:
                use.fresh[block] = (blocks.masks[block] & ~reached).bit_count()
                reached |= blocks.masks[block]
    after = 0
    for block in dict.fromkeys(reversed(visited)):
        use.final[block] = (blocks.masks[block] & ~after).bit_count()
        after |= blocks.masks[block]
    return use


def _plain_use(loops: Loops, dims: tuple[tuple[str, int], ...], blocks: _AxisBlocks) -> _Use:
    """One dimension, whose intervals are visited once each and have no position in common."""
    ((dim, _),) = dims
    own = loops.dims[dim]
    found = [blocks.interval(low, extent) for low, extent in zip(own.lows, own.extents, strict=True)]
    counts = dict(zip(found, own.extents, strict=True))
    return _Use(dims, np.array(found, dtype=np.int64), dict.fromkeys(found, 1), counts, counts)


def _overlap(blocks: _AxisBlocks) -> bool:
    reached = 0
    for mask in blocks.masks:
        reached |= mask
    return any(blocks.masks) and sum(blocks.counts) > reached.bit_count()


def _products(factors: list[Ints]) -> Ints:
    """All products of one number of each array, the last array fastest."""
    result = np.ones(1, dtype=np.int64)
    for factor in factors:
        result = np.outer(result, factor).reshape(-1)
    return result


def _cycles(nest: Nest, statement: Statement, array: Array, extents: Mapping[str, Ints], rows: int) -> Ints:
    """The array's cycles of one statement in tile operations of these extents."""
    view, place = gemm_view(nest, statement), placement(statement, array)

    def size(dims: tuple[str, ...]) -> Ints:
        result = np.ones(rows, dtype=np.int64)
        for d in dims:
            result = result * extents[d]
        return result

    along_rows, along_cols, streamed = (size(members(view, g)) for g in (place.rows, place.cols, place.streamed))
    folds = size(view.batch) * -(-along_rows // array.rows) * -(-along_cols // array.cols)
    return folds * array.stream(place.cycles(streamed))
