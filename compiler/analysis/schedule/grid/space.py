"""
The search space of schedules of a nest, as arrays.

Dimensions that the same tensors use, starts of sums included, form a group: M, N, K and batch of a product. The tilings
of a group form a sequence from coarse to fine: its inner dimensions whole, one in steps, the outer ones in steps of 1.
The loops of a group are adjacent, batch outermost, the other groups in any order. So a candidate is a loop order, a
tiling of every group, and a residency option of every tensor.

All costs of a tensor are tables over the tilings of its groups. A block that spans some inner loops is a read of the
table at a coarser tiling: the one without these loops.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import product
from math import ceil, prod
from typing import TypeAlias

import numpy as np

from npuc.compiler.analysis.nest.blocks import TiledDimension, axis_sum, inside, is_plain
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.footprint import positions
from npuc.dialects.npu.nest import Axis, Loop, Nest, Tensor

Grid: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Reals: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Order: TypeAlias = tuple[int, ...]
"""The numbers of the groups of dimensions, from the outermost loops inwards."""
SMALL = 12
"""The largest size of a dimension for which every step is tried."""
COARSE_TILINGS = 16
"""The approximate number of tilings of a large group."""
FINE_TILINGS = 28
"""The same for the fine search space, whose tilings reach down to steps of 1."""


@frozen(eq=False)
class DimGroup:
    """
    Dimensions that the same tensors use, and their tilings: the loops of each, outermost first.

    Equal groups are one object, so that nests of the same sizes share their tables.
    """

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    tilings: tuple[tuple[Loop, ...], ...]

    @cached_property
    def full(self) -> int:
        """The index of the tiling without loops."""
        return self.tilings.index(())

    @cached_property
    def depth(self) -> int:
        """The largest number of loops of a tiling."""
        return max(len(loops) for loops in self.tilings)

    @cached_property
    def trips(self) -> Grid:
        """The number of tiles of each tiling."""
        sizes = dict(zip(self.dims, self.sizes, strict=True))
        return np.array([prod(ceil(sizes[lo.dim] / lo.step) for lo in loops) for loops in self.tilings], dtype=np.int64)

    @cached_property
    def tile_sizes(self) -> tuple[int, ...]:
        """The elements of a whole tile of each tiling."""
        sizes = dict(zip(self.dims, self.sizes, strict=True))
        return tuple(prod((sizes | self.steps(position)).values()) for position in range(len(self.tilings)))

    @cached_property
    def shorter(self) -> tuple[Grid, ...]:
        """For 0, 1, … up to `depth` loops, the index of each tiling without that many innermost loops."""
        number = {loops: n for n, loops in enumerate(self.tilings)}
        return tuple(
            np.array([number[loops[: max(0, len(loops) - inner)]] for loops in self.tilings], dtype=np.int64)
            for inner in range(self.depth + 1)
        )

    def steps(self, position: int) -> dict[str, int]:
        """The step of each dimension that a tiling divides."""
        return {loop.dim: loop.step for loop in self.tilings[position]}

    @cached_property
    def first_alike(self) -> Grid:
        """For each tiling the first of the same steps and as many tiles, whose loops may be in another order."""
        keys = [(frozenset(self.steps(n).items()), int(trips)) for n, trips in enumerate(self.trips)]
        first: dict[object, int] = {}
        return np.array([first.setdefault(key, n) for n, key in enumerate(keys)], dtype=np.int64)

    @cached_property
    def tiles(self) -> tuple[dict[int, int], ...]:
        """The tiles of each tiling, as counts by tile size."""
        return tuple(self._tiles(position) for position in range(len(self.tilings)))

    def _tiles(self, position: int) -> dict[int, int]:
        counts = {1: 1}
        steps = self.steps(position)
        for dim, size in zip(self.dims, self.sizes, strict=True):
            whole, rest = divmod(size, steps.get(dim, size))
            parts = [(steps.get(dim, size), whole), (rest, 1 if rest else 0)]
            joined: dict[int, int] = {}
            for (length, count), (extent, times) in product(counts.items(), parts):
                if times:
                    joined[length * extent] = joined.get(length * extent, 0) + count * times
            counts = joined
        return counts


def total(groups: Sequence[DimGroup], factor: Callable[[int], int]) -> Grid:
    """
    The sum of a function of the tile size over all joint tiles of several groups, with an axis per group.
    """
    values: list[int] = []
    for parts in product(*(group.tiles for group in groups)):
        joint = {1: 1}
        for part in parts:
            step: dict[int, int] = {}
            for (size, count), (more, times) in product(joint.items(), part.items()):
                step[size * more] = step.get(size * more, 0) + count * times
            joint = step
        values.append(sum(factor(size) * count for size, count in joint.items()))
    return np.array(values, dtype=np.int64).reshape([len(group.tilings) for group in groups])


def along(values: Grid, axis: int, count: int) -> Grid:
    """A vector as an array of `count` axes that varies along one of them."""
    shape = [1] * count
    shape[axis] = -1
    return values.reshape(shape)


def groups_of(nest: Nest, edges: tuple[int, int], *, fine: bool) -> tuple[DimGroup, ...]:
    """
    The groups of a nest, batch first, the others in the nest's order.

    `edges` are the array's rows and columns, whose multiples make good tiles. `fine` also tiles the inner dimensions of
    a channel group, which only a very small SPM needs.
    """
    tensors = (*nest.ins, *nest.outs)
    starts = [start for start in nest.starts if start is not None]
    members: dict[tuple[frozenset[str], frozenset[str]], list[str]] = {}
    for dim in nest.sizes:
        users = frozenset(t.name for t in tensors if dim in t.dims)
        members.setdefault((users, frozenset(s.name for s in starts if dim in s.dims)), []).append(dim)
    everywhere = frozenset(t.name for t in tensors)
    windows = {d for t in tensors for a in t.axes for d in sorted(a.dims, key=lambda d: nest.sizes[d])[:-1]}
    groups: list[DimGroup] = []
    for users, started in sorted(members, key=lambda key: key[0] != everywhere):
        dims = tuple(members[users, started])
        sizes = tuple(nest.sizes[d] for d in dims)
        cut = None if users == everywhere else frozenset(d for d in dims if fine or d not in windows)
        groups.append(_group(dims, sizes, cut, max(edges), fine))
    return tuple(groups)


@lru_cache(maxsize=4096)
def _group(
    dims: tuple[str, ...], sizes: tuple[int, ...], cut: frozenset[str] | None, edge: int, fine: bool
) -> DimGroup:
    """A group; `cut` are the dimensions that are tiled in steps, None for batch."""
    tilings = _batch_tilings(dims, sizes) if cut is None else _tilings(dims, sizes, cut, edge, fine=fine)
    return DimGroup(dims, sizes, tilings)


def _batch_tilings(dims: tuple[str, ...], sizes: tuple[int, ...]) -> tuple[tuple[Loop, ...], ...]:
    """Tilings of whole dimensions and steps of 1 only."""
    loops = [Loop(d, 1) for d, n in zip(dims, sizes, strict=True) if n > 1]
    return tuple(tuple(loops[:count]) for count in range(len(loops) + 1))


def _tilings(
    dims: tuple[str, ...], sizes: tuple[int, ...], cut: frozenset[str], edge: int, *, fine: bool
) -> tuple[tuple[Loop, ...], ...]:
    """The tilings of a group, coarse to fine; only dimensions in `cut` take steps."""
    places = [n for n, d in enumerate(dims) if sizes[n] > 1 and d in cut]
    room = max(4, (FINE_TILINGS if fine else COARSE_TILINGS) // max(1, len(places)))
    least = 1 if fine or prod(sizes) <= SMALL else min(max(edge // 4, SMALL), prod(sizes) // 2)
    tilings: list[tuple[Loop, ...]] = [()]
    outer: list[Loop] = []
    for place in places:
        inner = prod(sizes[place + 1 :])
        steps = [step for step in _steps(sizes[place], inner, edge, room) if step * inner >= least]
        tilings += [(*outer, Loop(dims[place], step)) for step in steps]
        outer.append(Loop(dims[place], 1))
        if inner < least or len(steps) == 0:
            break
        if tuple(outer) not in tilings:
            tilings.append(tuple(outer))
    return tuple(tilings)


def _steps(size: int, inner: int, edge: int, room: int) -> list[int]:
    """Good steps of a dimension below its size, large first: all for a small one, else about `room` of them."""
    if size <= SMALL:
        return list(range(size - 1, 0, -1))
    found = {ceil(size / parts) for parts in (2, 3, 4)}
    step = max(1, edge // inner)
    while step < size:
        found.add(step)
        step *= 2
    power = 1
    while power < size:
        found.add(power)
        power *= 2
    steps = sorted(found - {size}, reverse=True)

    def waste(step: int) -> float:
        """
        The share of the array that a tile of this step leaves idle in its last fold, plus a penalty for small tiles.
        """
        tile = step * inner
        return (-tile % edge) / tile + 1 / tile

    while len(steps) > room:
        # Drop the least useful step: it fills the array badly and is close to a neighbour.
        worst = max(range(1, len(steps) - 1), key=lambda n: (waste(steps[n]) + 0.05) * steps[n] / steps[n - 1])
        del steps[worst]
    return steps


@frozen
class Table:
    """
    The blocks of one tensor at each tiling of its groups; arrays have an axis per group, of size 1 for unused groups.

    `room` is the size of the largest block, `volume` the elements of all blocks, `first` and `last` those of the first
    and the last block.
    """

    room: Grid
    volume: Grid
    first: Grid
    last: Grid
    uses: tuple[bool, ...]


def table_of(tensor: Tensor, groups: tuple[DimGroup, ...]) -> Table:
    """The table of a tensor."""
    ones = np.ones((1,) * len(groups), dtype=np.int64)
    room, volume, first, last = ones, ones, ones, ones
    for axis, size in zip(tensor.axes, tensor.shape, strict=True):
        counts = _axis_tables(axis, size, groups)
        room, volume, first, last = room * counts[0], volume * counts[1], first * counts[2], last * counts[3]
    return Table(room, volume, first, last, tuple(bool(tensor.dims & set(g.dims)) for g in groups))


@lru_cache(maxsize=4096)
def _axis_tables(axis: Axis, size: int, groups: tuple[DimGroup, ...]) -> tuple[Grid, Grid, Grid, Grid]:
    """The tables of one axis, computed once for each distinct combination of steps of its dimensions."""
    sizes = {d: n for group in groups for d, n in zip(group.dims, group.sizes, strict=True)}
    shape = [1] * len(groups)
    kinds: list[list[dict[str, int]]] = []
    which: list[Grid] = []
    for n, group in enumerate(groups):
        dims = [d for d in group.dims if d in axis.dims]
        if not dims:
            kinds.append([{}])
            which.append(np.zeros(1, dtype=np.int64))
            continue
        shape[n] = len(group.tilings)
        steps = [tuple((d, found.get(d, sizes[d])) for d in dims) for found in map(group.steps, range(shape[n]))]
        unique = {step: number for number, step in enumerate(dict.fromkeys(steps))}
        kinds.append([dict(u) for u in unique])
        which.append(np.array([unique[s] for s in steps], dtype=np.int64))
    entries: list[tuple[int, int, int, int]] = []
    for combination in product(*kinds):
        step: dict[str, int] = {}
        for part in combination:
            step |= part
        entries.append(_axis_entry(sizes, axis, size, step))
    small = np.array(entries, dtype=np.int64).reshape(*(len(k) for k in kinds), 4)
    large = small[np.ix_(*which)]
    return large[..., 0], large[..., 1], large[..., 2], large[..., 3]


def _axis_entry(sizes: dict[str, int], axis: Axis, size: int, step: dict[str, int]) -> tuple[int, int, int, int]:
    """Largest tile, volume, first and last tile of an axis with these steps."""
    if is_plain(axis):
        dim = axis.terms[0][0]
        return step[dim], size, step[dim], (size - 1) % step[dim] + 1
    mask = positions(tuple((c, step[d]) for d, c in axis.terms))
    cuts = tuple(TiledDimension(sizes[d], (step[d],) if step[d] < sizes[d] else ()) for d in axis.dims)
    rest = {d: (sizes[d] - 1) % step[d] + 1 for d in axis.dims}
    base = axis.offset + sum(c * (sizes[d] - rest[d]) for d, c in axis.terms)
    final = positions(tuple((c, rest[d]) for d, c in axis.terms))
    return (
        min(mask.bit_count(), size),
        axis_sum(axis, size, cuts),
        inside(mask, axis.offset, size).bit_count(),
        inside(final, base, size).bit_count(),
    )
