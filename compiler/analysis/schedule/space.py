"""
The schedules a search considers for a nest, as arrays.

Dimensions that the same tensors use form a group: M, N, K and batch of a product. The tiles of a group form a
chain: its inner dimensions whole, one in steps, the outer ones in steps of 1. A group's loops stand together, batch
outermost, the other groups in any order. So a candidate is an order, a position in the chain of every group, and
what each tensor keeps.

Everything a tensor costs is a table over the chain positions of its groups. Keeping a block over some inner loops is
reading the table at a coarser position: that of the chain with those loops taken away.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import ceil, prod
from typing import TypeAlias

import numpy as np

from npuc.compiler.analysis.nest.blocks import CutDimension, axis_sum, inside, is_plain
from npuc.dialects.npu.footprint import positions
from npuc.dialects.npu.nest import Axis, Loop, Nest, Tensor

Grid: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
Reals: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
SMALL = 12
"""A dimension of at most this size is tried with every step."""
CHAIN = 16
"""About how many positions a chain of a large group has."""
FINE_CHAIN = 28
"""The same for fine chains, which reach down to steps of 1."""


@dataclass(frozen=True, eq=False)
class DimGroup:
    """
    Dimensions that the same tensors use, and the chain of their tiles: loops of each position, outermost first.

    Equal groups are one object, so that nests of the same sizes share their tables.
    """

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    chain: tuple[tuple[Loop, ...], ...]

    @cached_property
    def full(self) -> int:
        """The position without loops."""
        return self.chain.index(())

    @cached_property
    def depth(self) -> int:
        """The largest number of loops."""
        return max(len(loops) for loops in self.chain)

    @cached_property
    def trips(self) -> Grid:
        """The tiles of each position."""
        sizes = dict(zip(self.dims, self.sizes, strict=True))
        return np.array([prod(ceil(sizes[lo.dim] / lo.step) for lo in loops) for loops in self.chain], dtype=np.int64)

    @cached_property
    def shorter(self) -> tuple[Grid, ...]:
        """For 0, 1, … up to `depth` loops: of each position, the one with so many loops fewer at its inner end."""
        number = {loops: n for n, loops in enumerate(self.chain)}
        return tuple(
            np.array([number[loops[: max(0, len(loops) - inner)]] for loops in self.chain], dtype=np.int64)
            for inner in range(self.depth + 1)
        )

    def steps(self, position: int) -> dict[str, int]:
        """The step of each dimension that a position cuts."""
        return {loop.dim: loop.step for loop in self.chain[position]}

    @cached_property
    def tiles(self) -> tuple[dict[int, int], ...]:
        """How many tiles of each size each position has."""
        return tuple(self._tiles(position) for position in range(len(self.chain)))

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
    The sum, over the tiles of several groups together, of a function of the tile's size: an axis a group.
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
    return np.array(values, dtype=np.int64).reshape([len(group.chain) for group in groups])


def along(values: Grid, axis: int, count: int) -> Grid:
    """A vector as an array of `count` axes that varies along one of them."""
    shape = [1] * count
    shape[axis] = -1
    return values.reshape(shape)


def groups_of(nest: Nest, edges: tuple[int, int], *, fine: bool) -> tuple[DimGroup, ...]:
    """
    The groups of a nest, batch first, the others in the nest's order.

    `edges` are the array's rows and columns, whose multiples make good tiles. `fine` also cuts the inner dimensions of
    a channel group, which only a very small SPM needs.
    """
    tensors = (*nest.ins, *nest.outs)
    members: dict[frozenset[str], list[str]] = {}
    for dim in nest.sizes:
        members.setdefault(frozenset(t.name for t in tensors if dim in t.dims), []).append(dim)
    everywhere = frozenset(t.name for t in tensors)
    windows = {d for t in tensors for a in t.axes for d in sorted(a.dims, key=lambda d: nest.sizes[d])[:-1]}
    groups: list[DimGroup] = []
    for users in sorted(members, key=lambda users: users != everywhere):
        dims = tuple(members[users])
        sizes = tuple(nest.sizes[d] for d in dims)
        cut = None if users == everywhere else frozenset(d for d in dims if fine or d not in windows)
        groups.append(_group(dims, sizes, cut, max(edges), fine))
    return tuple(groups)


@lru_cache(maxsize=4096)
def _group(
    dims: tuple[str, ...], sizes: tuple[int, ...], cut: frozenset[str] | None, edge: int, fine: bool
) -> DimGroup:
    """A group; `cut` are the dimensions that take steps, None for batch."""
    chain = _corners(dims, sizes) if cut is None else _chain(dims, sizes, cut, edge, fine=fine)
    return DimGroup(dims, sizes, chain)


def _corners(dims: tuple[str, ...], sizes: tuple[int, ...]) -> tuple[tuple[Loop, ...], ...]:
    """A chain of whole dimensions and steps of 1 only."""
    loops = [Loop(d, 1) for d, n in zip(dims, sizes, strict=True) if n > 1]
    return tuple(tuple(loops[:count]) for count in range(len(loops) + 1))


def _chain(
    dims: tuple[str, ...], sizes: tuple[int, ...], cut: frozenset[str], edge: int, *, fine: bool
) -> tuple[tuple[Loop, ...], ...]:
    """The chain of a group, coarse to fine; only dimensions in `cut` take steps."""
    places = [n for n, d in enumerate(dims) if sizes[n] > 1 and d in cut]
    room = max(4, (FINE_CHAIN if fine else CHAIN) // max(1, len(places)))
    least = 1 if fine or prod(sizes) <= SMALL else min(max(edge // 4, SMALL), prod(sizes) // 2)
    chain: list[tuple[Loop, ...]] = [()]
    outer: list[Loop] = []
    for place in places:
        inner = prod(sizes[place + 1 :])
        steps = [step for step in _steps(sizes[place], inner, edge, room) if step * inner >= least]
        chain += [(*outer, Loop(dims[place], step)) for step in steps]
        outer.append(Loop(dims[place], 1))
        if inner < least or len(steps) == 0:
            break
        if tuple(outer) not in chain:
            chain.append(tuple(outer))
    return tuple(chain)


def _steps(size: int, inner: int, edge: int, room: int) -> list[int]:
    """Good steps of a dimension below its size, large first: all of a small one, else about `room`."""
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
        """How much of the array's last fold a tile of this step leaves empty; finer tiles are worse at once."""
        tile = step * inner
        return (-tile % edge) / tile + 1 / tile

    while len(steps) > room:
        # The least useful one: badly filling the array and close to a neighbour.
        worst = max(range(1, len(steps) - 1), key=lambda n: (waste(steps[n]) + 0.05) * steps[n] / steps[n - 1])
        del steps[worst]
    return steps


@dataclass(frozen=True)
class Table:
    """
    What one tensor costs at each chain position of its groups: an axis of the arrays a group, of size 1 where the
    tensor does not use it.

    `room` is the largest block; `volume` the elements of all its blocks; `first` and `last` the first and last block.
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
    """The tables of one axis, computed once for each combination of steps that differ on it."""
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
        shape[n] = len(group.chain)
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
    """Room, volume, first and last tile of an axis with these steps."""
    if is_plain(axis):
        dim = axis.terms[0][0]
        return step[dim], size, step[dim], (size - 1) % step[dim] + 1
    mask = positions(tuple((c, step[d]) for d, c in axis.terms))
    cuts = tuple(CutDimension(sizes[d], (step[d],) if step[d] < sizes[d] else ()) for d in axis.dims)
    rest = {d: (sizes[d] - 1) % step[d] + 1 for d in axis.dims}
    base = axis.offset + sum(c * (sizes[d] - rest[d]) for d, c in axis.terms)
    final = positions(tuple((c, rest[d]) for d, c in axis.terms))
    return (
        min(mask.bit_count(), size),
        axis_sum(axis, size, cuts),
        inside(mask, axis.offset, size).bit_count(),
        inside(final, base, size).bit_count(),
    )
