"""
The array's work of a scheduled nest, in closed form.

A tile operation runs its statements one after another, each as the GEMM its view says, once for every element of
its batch dimensions. Cycles and accesses of a tile are products of one factor for each of M, N, K and batch, and
every dimension is in one of these groups, so that the sum over all tiles is the product of four sums.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from npuc.compiler.analysis.array import Array, Group
from npuc.compiler.analysis.blocks import lengths
from npuc.compiler.analysis.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule, Statement


@dataclass(frozen=True)
class Compute:
    """
    Work of the array for one nest.

    `cycles` are those of all tiles with nothing to wait for, `overhead` (fill and drain paid once) included; `tiles` is
    the number of tile operations. `accesses` are the elements of each tensor that the array reads from SPM, or writes
    to it for an output: partial sums of a later fold add up where they are written.
    """

    cycles: int
    overhead: int
    folds: int
    tiles: int
    accesses: Mapping[str, int]


def tile_cycles(nest: Nest, array: Array, extents: Mapping[str, int]) -> int:
    """The cycles of one tile operation, a dimension's extent in it by name."""
    total = 0
    for statement in nest.statements:
        batch, m, n, k = gemm_view(nest, statement).sizes(extents)
        total += batch * array.cycles(m, n, k)
    return total


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


@lru_cache(maxsize=4096)
def compute(nest: Nest, schedule: Schedule, array: Array) -> Compute:
    """The work of all tiles of a scheduled nest."""
    cycles, folds, tiles = array.op_overhead, 0, 0
    accesses = dict.fromkeys(nest.tensors, 0)
    for statement in nest.statements:
        part = _statement(nest, schedule, array, statement)
        cycles, folds, tiles = cycles + part.cycles, folds + part.folds, part.tiles
        for name, elements in part.accesses.items():
            accesses[name] += elements
    return Compute(cycles, array.op_overhead, folds, tiles, accesses)


def _statement(nest: Nest, schedule: Schedule, array: Array, statement: Statement) -> Compute:
    view = gemm_view(nest, statement)
    groups = {"m": view.m, "n": view.n, "k": view.k, "batch": view.batch}
    sizes = {name: group_lengths(nest, schedule, dims) for name, dims in groups.items()}

    def total(name: str, factor: Callable[[int], int]) -> int:
        return sum(factor(size) * count for size, count in sizes[name].items())

    def whole(name: str) -> int:
        return total(name, lambda size: size)

    def tiles(name: str) -> int:
        return total(name, lambda _: 1)

    rows, cols, streamed = array.places
    row_folds = total(rows, lambda size: -(-size // array.rows))
    col_folds = total(cols, lambda size: -(-size // array.cols))
    batch = whole("batch")
    # Elements of an operand on two of the three groups, read again for every fold of the third that lies on the array.
    again = {rows: row_folds, cols: col_folds, streamed: tiles(streamed)}

    def accessed(first: str, second: str, third: Group) -> int:
        return batch * whole(first) * whole(second) * again[third]

    accesses = {statement.lhs: accessed("m", "k", "n"), statement.out: accessed("m", "n", "k")}
    # A product of a tensor with itself reads it on both sides.
    accesses[statement.rhs] = accesses.get(statement.rhs, 0) + accessed("k", "n", "m")
    return Compute(
        cycles=batch * row_folds * col_folds * total(streamed, lambda size: size + array.fold_overhead),
        overhead=0,
        folds=batch * row_folds * col_folds * tiles(streamed),
        tiles=tiles("m") * tiles("n") * tiles("k") * tiles("batch"),
        accesses=accesses,
    )
