"""
What stays in the array's elements, and which tile operations find it there.

A tile operation that is one fold leaves its stationary tile in the elements. The next one finds it if it works on the
same tile: if no loop between them steps in a dimension of that tile. On the in-place array this saves the preload of
W, or the drain of the sums dW; where folds overlap (`Array.grouped`), both are one group of folds (`edge.py`), in a
nest of one statement.

The in-place array has W[c, n] in cell (n, c), and runs the three products of a layer around it, rows and columns first:

    Y = X W       n, c; M streams     X from below, partial sums move right
    dX = dY W^T    n, c; M streams     dY from the left, partial sums move up
    dW = X^T dY    n, c; M streams     both, sums stay
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Literal, TypeAlias

from npuc.compiler.analysis.machine.array import Array, Group
from npuc.compiler.analysis.nest.blocks import lengths
from npuc.dialects.npu.gemm import GemmView, gemm_view
from npuc.dialects.npu.nest import Nest, Schedule, Statement

Product = Literal["forward", "dx", "dw"]
Side = Literal["out", "lhs", "rhs"]
Extents: TypeAlias = dict[str, int]
STATIONARY: dict[Group, Side] = {"k": "out", "n": "lhs", "m": "rhs"}
"""The tensor of a product that the streamed group does not index."""
SHARED: dict[frozenset[str], Group] = {
    frozenset(("out", "lhs")): "m",
    frozenset(("out", "rhs")): "n",
    frozenset(("lhs", "rhs")): "k",
}
"""The group that two sides of a product share."""


@dataclass(frozen=True)
class GroupPlacement:
    """Where the groups of a statement lie: on rows, on columns, streamed."""

    rows: Group
    cols: Group
    streamed: Group

    def stationary(self, statement: Statement) -> str:
        """The tensor whose tile stays in the elements."""
        sides = {"out": statement.out, "lhs": statement.lhs, "rhs": statement.rhs}
        return sides[STATIONARY[self.streamed]]


def product_of(statement: Statement) -> tuple[Product, Side, Side, Side]:
    """
    Which product of a layer a statement is, and the sides on which it has X, W and Y (or their gradients).

    They are known by their names, with a `d` in front for gradients, and a number behind where several nests became
    one. A product with other names is a forward one, its right operand the weights.
    """
    names: dict[str, Side] = {}
    sides: tuple[tuple[Side, str], ...] = (("out", statement.out), ("lhs", statement.lhs), ("rhs", statement.rhs))
    for side, name in sides:
        names[name.removeprefix("d").rstrip("0123456789")] = side
    if set(names) != {"X", "W", "Y"}:
        names = {"X": "lhs", "W": "rhs", "Y": "out"}
    product: Product = "forward" if names["Y"] == "out" else "dx" if names["X"] == "out" else "dw"
    return product, names["X"], names["W"], names["Y"]


@lru_cache(maxsize=4096)
def placement(statement: Statement, array: Array) -> GroupPlacement:
    """The placement of a statement on an array."""
    if array.dataflow != "in-place":
        return GroupPlacement(*array.places)
    _, x, w, y = product_of(statement)
    return GroupPlacement(SHARED[frozenset((y, w))], SHARED[frozenset((x, w))], SHARED[frozenset((x, y))])


@dataclass(frozen=True)
class StationaryTiles:
    """
    Tile operations that find their stationary tile in the elements, and the elements of those tiles.

    `waits` are the cycles in which a hidden load is waited for (`overlap.py`), of them `last` after the last group;
    those do not count. `blocks` are the instructions of a part that has one stationary tile; 0 for others.
    """

    tiles: int = 0
    elements: int = 0
    waits: int = 0
    last: int = 0
    blocks: int = 0


def members(view: GemmView, group: Group) -> tuple[str, ...]:
    """The dimensions of a group."""
    return {"m": view.m, "n": view.n, "k": view.k}[group]


def streamed_dims(nest: Nest, statement: Statement, array: Array) -> tuple[str, ...]:
    """The dimensions that a statement streams through the array."""
    return members(gemm_view(nest, statement), placement(statement, array).streamed)


def single_fold(nest: Nest, statement: Statement, array: Array, extents: Mapping[str, int]) -> bool:
    """Whether a tile operation of these extents is one fold of one product."""
    batch, m, n, k = gemm_view(nest, statement).sizes(extents)
    size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
    return batch == 1 and size[place.rows] <= array.rows and size[place.cols] <= array.cols


def changes(nest: Nest, schedule: Schedule, statement: Statement, array: Array, level: int, extents: Extents) -> bool:
    """
    Whether the stationary tile is another one after a step of the loop `level`.

    `extents` are those of the dimensions inside the loops up to `level`: loops deeper in that take one trip do not
    count. A tile operation of several folds never finds its first one.
    """
    streamed = streamed_dims(nest, statement, array)
    loops = schedule.loops
    return (
        level < schedule.core_depth
        or loops[level].dim not in streamed
        or any(loop.dim not in streamed and extents[loop.dim] > loop.step for loop in loops[level + 1 :])
        or not single_fold(nest, statement, array, extents | dict.fromkeys(streamed, 1))
    )


@lru_cache(maxsize=4096)
def kept(nest: Nest, schedule: Schedule, array: Array, statement: Statement, anyway: bool = False) -> StationaryTiles:
    """
    The tile operations of a scheduled nest that find the stationary tile of a statement in the elements.

    None where it makes no difference, except `anyway`.
    """
    if not (array.keeps or anyway) or (array.grouped and len(nest.statements) > 1):
        return StationaryTiles()
    streamed = streamed_dims(nest, statement, array)
    found: dict[tuple[int, tuple[int, ...]], StationaryTiles] = {}

    def inside(level: int, extents: dict[str, int]) -> StationaryTiles:
        if level == len(schedule.loops):
            return _leaf(nest, statement, array, extents)
        key = (level, tuple(extents.values()))
        if key in found:
            return found[key]
        loop = schedule.loops[level]
        whole, rest = divmod(extents[loop.dim], loop.step)
        tiles = elements = waits = last = blocks = 0
        for extent, count in ((loop.step, whole), (rest, 1)):
            if extent and count:
                part = inside(level + 1, extents | {loop.dim: extent})
                tiles, elements = tiles + count * part.tiles, elements + count * part.elements
                waits, blocks, last = waits + count * part.waits, blocks + count * part.blocks, part.last
        steps = whole + (rest > 0) - 1
        if steps and not changes(nest, schedule, statement, array, level, extents):
            tiles += steps
            elements += steps * prod(size for dim, size in extents.items() if dim not in streamed)
            waits = last = array.wait(blocks)
        elif steps:
            blocks = 0
        found[key] = StationaryTiles(tiles, elements, waits, last, blocks)
        return found[key]

    return inside(0, nest.sizes)


def _leaf(nest: Nest, statement: Statement, array: Array, extents: Mapping[str, int]) -> StationaryTiles:
    """One tile operation: its folds are groups of instructions; a single one may be a part of a longer group."""
    batch, m, n, k = gemm_view(nest, statement).sizes(extents)
    size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
    folds = batch * -(-size[place.rows] // array.rows) * -(-size[place.cols] // array.cols)
    blocks = -(-size[place.streamed] // array.tile_m)
    wait = array.wait(blocks)
    return StationaryTiles(waits=folds * wait, last=wait, blocks=blocks if folds == 1 else 0)


def group_wait(nest: Nest, schedule: Schedule, statement: Statement, array: Array, level: int, extents: Extents) -> int:
    """
    The wait of the group of instructions that begins inside the loop `level` (-1: outside of all), the dimensions
    having `extents` there: that of the loops inside the innermost one that changes the stationary tile. 0 for tile
    operations of several folds, which wait by themselves.
    """
    streamed = streamed_dims(nest, statement, array)
    size, begin = dict(extents), level + 1
    for number, loop in enumerate(schedule.loops[level + 1 :], level + 1):
        if (number < schedule.core_depth or loop.dim not in streamed) and extents[loop.dim] > loop.step:
            begin = number + 1
    for loop in schedule.loops[level + 1 :]:
        if loop.dim not in streamed:
            size[loop.dim] = min(size[loop.dim], loop.step)
    for loop in schedule.loops[level + 1 : begin]:
        size[loop.dim] = min(size[loop.dim], loop.step)
    if not single_fold(nest, statement, array, size | dict.fromkeys(streamed, 1)):
        return 0
    blocks = {1: 1}
    for dim in streamed:
        steps = tuple(loop.step for loop in schedule.loops[begin:] if loop.dim == dim)
        parts = lengths(size[dim], steps)
        joined: dict[int, int] = {}
        for product, count in blocks.items():
            for length, more in parts:
                joined[product * length] = joined.get(product * length, 0) + count * more
        blocks = joined
    return array.wait(sum(count * -(-length // array.tile_m) for length, count in blocks.items()))


def holds_one_tile(nest: Nest, schedule: Schedule, array: Array) -> bool:
    """Whether one stationary tile serves a whole nest of one statement: then it may be there before, and stay after."""
    if len(nest.statements) != 1 or array.dataflow != "in-place" or schedule.core_depth:
        return False
    statement = next(iter(nest.statements))
    streamed = streamed_dims(nest, statement, array)
    return single_fold(nest, statement, array, nest.sizes | dict.fromkeys(streamed, 1)) and not any(
        loop.dim not in streamed and loop.step < nest.sizes[loop.dim] for loop in schedule.loops
    )


def transposed(nest: Nest, width: Mapping[str, int]) -> dict[str, int]:
    """The bits of the tensors that a nest reads transposed: W for dX, X for dW."""
    found: dict[str, int] = {}
    for statement in nest.statements:
        product, x, w, _ = product_of(statement)
        if product != "forward":
            side = w if product == "dx" else x
            name = {"out": statement.out, "lhs": statement.lhs, "rhs": statement.rhs}[side]
            found[name] = nest.tensors[name].elements * width[name]
    return found
