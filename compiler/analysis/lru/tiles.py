"""
The tile operations of scheduled nests one by one, with numbers for the tiles that they touch.

A tile is a block of a tensor: along each axis the positions that the intervals of its dimensions reach in one tile
operation. Blocks of equal positions are one tile, in whichever walk they occur; blocks that only overlap (halos of
windows, or two tilings of the same tensor) are different tiles. Operations are generated in order, in chunks of numpy
arrays; costs of tiles are looked up in tables over the axes, so that nothing is computed twice for an operation.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain
from math import prod

import numpy as np

from npuc.compiler.analysis.lru.blocks import AxisBlocks, AxisUse, PoolValue, overlap, use_of
from npuc.compiler.analysis.lru.folds import Folds, Operation, folds_of, stationary
from npuc.compiler.analysis.lru.loops import Loops, Walk, loops_of
from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.stationary import members, placement
from npuc.compiler.analysis.nest.blocks import Ints, is_plain
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Statement


class PoolTiles:
    """
    The tiles of some walks: `sizes` in bits, `value_of` the number of the tensor.

    For a tile of a sum, `visits` is the number of operations that add to it, `prior` the bits that its first visit
    reads from DRAM, written by earlier overlapping tiles, and `done` the bits that are written after its last
    operation, where elements shared with later tiles are partial sums. For a tile of an operand `prior` is its size.
    """

    def __init__(self, walks: Sequence[Walk], array: Array):
        self.array = array
        self.values: dict[tuple[Hashable, bool], PoolValue] = {}
        self.loops = [loops_of(walk) for walk in walks]
        self.walks = walks
        self.named: list[dict[str, PoolValue]] = []
        """Of each walk its tensors by name."""
        self.uses = [self._prepare(walk, loops) for walk, loops in zip(walks, self.loops, strict=True)]
        self.readers = [0] * len(self.values)
        for walk, named in zip(walks, self.named, strict=True):
            for name in (name for s in walk.nest.statements for name in (s.lhs, s.rhs)):
                self.readers[named[name].number] += 1
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
        for walk, loops, uses, named in zip(walks, self.loops, self.uses, self.named, strict=True):
            for out in walk.nest.outs:
                self._count_visits(named[out.name], uses[out.name], loops)

    def _prepare(self, walk: Walk, loops: Loops) -> dict[str, list[AxisUse]]:
        outputs = {t.name for t in walk.nest.outs}
        named = dict[str, PoolValue]()
        result: dict[str, list[AxisUse]] = {}
        value_of = walk.value_of
        sums, stored = walk.widths.with_sums(walk.nest), walk.widths.by_name(walk.nest)
        for name, tensor in walk.nest.tensors.items():
            key = (value_of[name], tensor.shape), name in outputs
            again = key in self.values and name in outputs
            if key not in self.values:
                blocks = [AxisBlocks(size) for size in tensor.shape]
                self.values[key] = PoolValue(len(self.values), name in outputs, sums[name], stored[name], blocks)
            named[name] = self.values[key]
            blocks = self.values[key].blocks
            before = [len(b.counts) for b in blocks]
            result[name] = [use_of(loops, axis, b) for axis, b in zip(tensor.axes, blocks, strict=True)]
            if again and (before != [len(b.counts) for b in blocks] or not all(map(is_plain, tensor.axes))):
                raise ValueError(f"{name} is the sum of two walks in different or overlapping tiles")
        self.named.append(named)
        return result

    def _count_visits(self, value: PoolValue, uses: list[AxisUse], loops: Loops) -> None:
        if not value.tiles:
            return
        dims = {d for use in uses for d, _ in use.dims}
        others = prod(len(cut.lows) for d, cut in loops.dims.items() if d not in dims)
        arrays = [np.zeros((3, len(b.counts)), dtype=np.int64) for b in value.blocks]
        for use, array in zip(uses, arrays, strict=True):
            array[:, use.blocks] = use.times, use.fresh, use.final
        visits, new, ended = (_products([a[row] for a in arrays]) for row in range(3))
        own = slice(value.first, value.first + value.tiles)
        sizes, before = self.sizes[own], self.visits[own]
        news = (new * value.width).tolist()
        self.prior[own] = [
            prior if seen else size - bits
            for prior, seen, size, bits in zip(self.prior[own], before, sizes, news, strict=True)
        ]
        self.visits[own] = (visits * others + np.array(before, dtype=np.int64)).tolist()
        self.finished[own] = ended.tolist()
        narrower = (ended * (value.width - value.final)).tolist()
        self.done[own] = [size - bits for size, bits in zip(sizes, narrower, strict=True)]

    def operations(self, number: int) -> Iterator[Operation]:
        """The operations of a walk in order; an operand that other statements use too comes first."""
        walk, loops, uses, named = self.walks[number], self.loops[number], self.uses[number], self.named[number]
        nest = walk.nest
        extents = {d: np.array(cut.extents, dtype=np.int64) for d, cut in loops.dims.items()}
        tables = {
            name: [use.table * stride for use, stride in zip(uses[name], named[name].strides, strict=True)]
            for name in nest.tensors
        }
        for at in loops.iterations():
            sizes = {d: extents[d][a] for d, a in at.items()}
            rows = len(next(iter(at.values())))
            tiles: dict[str, list[int]] = {}
            for name in nest.tensors:
                column = np.full(rows, named[name].first)
                for use, table in zip(uses[name], tables[name], strict=True):
                    column += table[_combination(use, at)]
                tiles[name] = column.tolist()
            statements: list[Iterator[Operation]] = []
            for s in nest.statements:
                start = nest.start_of(s.out)
                begin = [-1] * rows if start is None else tiles[start.name]
                first, second = sorted((s.lhs, s.rhs), key=lambda n: self.readers[named[n].number] < 2)
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
        for at in loops.iterations():
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
        return frozenset(v.number for v in self.values.values() if v.output and any(map(overlap, v.blocks)))


def _combination(use: AxisUse, at: Mapping[str, Ints]) -> Ints | int:
    """The number of the combination of intervals of an axis in each iteration."""
    if not use.dims:
        return 0
    found, *others = (at[d] * stride if stride > 1 else at[d] for d, stride in use.dims)
    for other in others:
        found = found + other
    return found


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
