"""
Stationary tiles in the processing elements, and the tile operations that reuse them.

A tile operation of a single fold leaves its stationary tile in the array. The next operation reuses it if no loop
between the two steps through a dimension of that tile, and no other statement of the nest, which runs in between, takes
its register (`keeps_tile`). On the in-place array reuse saves the preload of W, or the drain of the sums dW; where
folds overlap (`Array.grouped`), both operations form one group of folds (`edge.py`).

The in-place array holds W[c, n] in cell (n, c) and runs all three products of a layer around it (rows, columns;
streamed):

    Y = X W        n, c; M streams     X from below, partial sums move right
    dX = dY W^T    n, c; M streams     dY from the left, partial sums move up
    dW = X^T dY    n, c; M streams     both, sums stay
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Literal, TypeAlias

from npuc.compiler.analysis.machine.array import Array, Group
from npuc.compiler.analysis.machine.skipping import Shares, shares
from npuc.compiler.analysis.nest.blocks import lengths
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.gemm import GemmView, gemm_view
from npuc.dialects.npu.nest import Nest, Schedule, Statement
from npuc.dialects.npu.widths import Width
from npuc.dialects.products import Count, Passes, whole_cycles

Product = Literal["forward", "dx", "dw"]
Side = Literal["out", "lhs", "rhs"]
Extents: TypeAlias = dict[str, int]
STATIONARY: dict[Group, Side] = {"k": "out", "n": "lhs", "m": "rhs"}
"""The stationary tensor of a product: the one that the streamed group does not index."""
OPERANDS: dict[Side, int] = {"lhs": 0, "rhs": 1}
"""The number of each operand among the factors of a product."""
SHARED: dict[frozenset[str], Group] = {
    frozenset(("out", "lhs")): "m",
    frozenset(("out", "rhs")): "n",
    frozenset(("lhs", "rhs")): "k",
}
"""The group of dimensions that two tensors of a product share."""


@frozen
class GroupPlacement:
    """
    The dataflow of a statement: the groups of dimensions on the array's rows and columns, and the streamed one, each
    row of which streams in as many steps as a product takes passes; a fold streams whole steps.
    """

    rows: Group
    cols: Group
    streamed: Group
    passes: Passes = 1

    def steps(self, sizes: Mapping[str, int]) -> int:
        """The steps of a fold, one for each pass of a streamed row; `sizes` are those of the groups."""
        return self.cycles(sizes[self.streamed])

    def cycles(self, rows: Count) -> Count:
        """The steps of a fold that streams so many rows."""
        return whole_cycles(self.passes, rows)

    def stationary(self, statement: Statement) -> str:
        """The name of the stationary tensor."""
        sides = {"out": statement.out, "lhs": statement.lhs, "rhs": statement.rhs}
        return sides[STATIONARY[self.streamed]]


def product_of(statement: Statement) -> tuple[Product, Side, Side, Side]:
    """
    The product of a layer that a statement computes, and which of its tensors are X, W and Y (or their gradients).

    Tensors are recognised by name, with a prefix `d` for gradients and a numeric suffix after fusion. With any other
    names the statement is taken for a forward product whose right operand is the weights.
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
    """How the array's dataflow places the groups of a statement."""
    if array.dataflow != "in-place":
        places = array.places
    else:
        _, x, w, y = product_of(statement)
        places = SHARED[frozenset((y, w))], SHARED[frozenset((x, w))], SHARED[frozenset((x, y))]
    return GroupPlacement(*places, _passes(statement.passes, _skipped(statement, array, places[2]).time))


def _skipped(statement: Statement, array: Array, streamed: Group | None) -> Shares:
    """What the array makes of the zeros of a statement's operands; None: a row-stationary one, which streams none."""
    stationary = None if streamed is None else OPERANDS.get(STATIONARY[streamed])
    return shares(statement.factors, stationary, array.skipping)


def _passes(passes: Passes, share: Fraction) -> Passes:
    """A share of passes; whole ones as an integer, so that dense products count as they do without shares."""
    return passes if share == 1 else passes * share


def time_passes(nest: Nest, array: Array) -> Passes:
    """The passes of all products of a nest in which multipliers are taken: without those of zeros that are skipped."""
    if array.dataflow == "rs":
        return nest.mac_passes
    return nest.points * sum(placement(statement, array).passes for statement in nest.statements)


def carried_passes(nests: Iterable[Nest], array: Array) -> Passes:
    """The passes of the products of nests that are carried out, which take energy."""
    return sum(nest.points * carried(statement, array) for nest in nests for statement in nest.statements)


@lru_cache(maxsize=4096)
def carried(statement: Statement, array: Array) -> Passes:
    """The passes of a product of a statement that are carried out on average."""
    streamed = None if array.dataflow == "rs" else placement(statement, array).streamed
    return _passes(statement.passes, _skipped(statement, array, streamed).carried)


@frozen
class StationaryReuse:
    """
    The number of `tiles` operations that reuse their stationary tile, and the `elements` of those tiles.

    `waits` counts cycles of waiting for a hidden weight load (`overlap.py`), including `last`, those after the last
    group, which the nest does not pay. `blocks` is the number of instructions on a single stationary tile; 0 where
    there are several tiles.
    """

    tiles: int = 0
    elements: int = 0
    waits: int = 0
    last: int = 0
    blocks: int = 0


def members(view: GemmView, group: Group) -> tuple[str, ...]:
    """The nest dimensions of a group."""
    return {"m": view.m, "n": view.n, "k": view.k}[group]


def streamed_dims(nest: Nest, statement: Statement, array: Array) -> tuple[str, ...]:
    """The nest dimensions that a statement streams through the array."""
    return members(gemm_view(nest, statement), placement(statement, array).streamed)


def single_fold(nest: Nest, statement: Statement, array: Array, extents: Mapping[str, int]) -> bool:
    """Whether a tile operation with these extents is a single fold of a single product."""
    batch, m, n, k = gemm_view(nest, statement).sizes(extents)
    size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
    return batch == 1 and size[place.rows] <= array.rows and size[place.cols] <= array.cols


def leaves_sums(statement: Statement, array: Array) -> bool:
    """Whether the tile that stays is one of sums, which an in-place array has in registers of their own."""
    return array.dataflow == "in-place" and product_of(statement)[0] == "dw"


def keeps_tile(nest: Nest, statement: Statement, array: Array) -> bool:
    """
    Whether a tile operation leaves the stationary tile of a statement in the array for the next one.

    Statements run in turn, and an element has one register for what stays: the tile of any other statement replaces it.
    An in-place array has two, for weights and for sums, so that dX and dW of a layer both keep theirs.
    """
    own = leaves_sums(statement, array)
    return all(other == statement or leaves_sums(other, array) != own for other in nest.statements)


def changes(nest: Nest, schedule: Schedule, statement: Statement, array: Array, level: int, extents: Extents) -> bool:
    """
    Whether a step of loop number `level` replaces the stationary tile.

    `extents` are the dimensions' extents inside the loops up to `level`; inner loops of one trip are ignored. A tile
    operation of several folds never reuses its first tile.
    """
    streamed = streamed_dims(nest, statement, array)
    loops = schedule.loops
    return (
        not keeps_tile(nest, statement, array)
        or level < schedule.core_depth
        or loops[level].dim not in streamed
        or any(loop.dim not in streamed and extents[loop.dim] > loop.step for loop in loops[level + 1 :])
        or not single_fold(nest, statement, array, extents | dict.fromkeys(streamed, 1))
    )


@lru_cache(maxsize=4096)
def stationary_reuse(
    nest: Nest, schedule: Schedule, array: Array, statement: Statement, *, count_all: bool = False
) -> StationaryReuse:
    """
    The tile operations of a scheduled nest that reuse the stationary tile of a statement; on arrays where reuse makes
    no difference they are counted with `count_all` only.
    """
    if not (array.reuses_stationary or count_all):
        return StationaryReuse()
    return _Reuse(nest, schedule, array, statement).inside(0, nest.sizes)


class _Reuse:
    """The reuse of a statement's stationary tile inside any of a schedule's loops."""

    def __init__(self, nest: Nest, schedule: Schedule, array: Array, statement: Statement):
        self.nest, self.schedule, self.array, self.statement = nest, schedule, array, statement
        self.streamed, self.found = streamed_dims(nest, statement, array), dict[tuple[int, ...], StationaryReuse]()

    def inside(self, level: int, extents: dict[str, int]) -> StationaryReuse:
        """That of the loops from `level` inwards, where the dimensions have these extents."""
        nest, schedule, array, statement = self.nest, self.schedule, self.array, self.statement
        if level == len(schedule.loops):
            return _leaf(nest, statement, array, extents)
        key = (level, *extents.values())
        if key in self.found:
            return self.found[key]
        loop = schedule.loops[level]
        whole, rest = divmod(extents[loop.dim], loop.step)
        tiles = elements = waits = last = blocks = 0
        for extent, count in ((loop.step, whole), (rest, 1)):
            if extent and count:
                part = self.inside(level + 1, extents | {loop.dim: extent})
                tiles, elements = tiles + count * part.tiles, elements + count * part.elements
                waits, blocks, last = waits + count * part.waits, blocks + count * part.blocks, part.last
        steps = whole + (rest > 0) - 1
        if steps and not changes(nest, schedule, statement, array, level, extents):
            tiles += steps
            elements += steps * prod(size for dim, size in extents.items() if dim not in self.streamed)
            waits = last = array.wait(blocks)
        elif steps:
            blocks = 0
        return self.found.setdefault(key, StationaryReuse(tiles, elements, waits, last, blocks))


def _leaf(nest: Nest, statement: Statement, array: Array, extents: Mapping[str, int]) -> StationaryReuse:
    """One tile operation: each fold is a group of instructions; a single fold may belong to a longer group."""
    batch, m, n, k = gemm_view(nest, statement).sizes(extents)
    size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
    folds = batch * -(-size[place.rows] // array.rows) * -(-size[place.cols] // array.cols)
    blocks = -(-place.steps(size) // array.tile_m)
    wait = array.wait(blocks)
    return StationaryReuse(waits=folds * wait, last=wait, blocks=blocks if folds == 1 else 0)


def group_wait(nest: Nest, schedule: Schedule, statement: Statement, array: Array, level: int, extents: Extents) -> int:
    """
    The wait, in cycles, of the group of instructions that begins inside loop `level` (-1: outside all loops), where the
    dimensions have `extents`. The group spans the loops inside the innermost one that replaces the stationary tile.
    0 for tile operations of several folds, whose waits are counted within them.
    """
    streamed, stays = streamed_dims(nest, statement, array), keeps_tile(nest, statement, array)
    size, begin = dict(extents), level + 1
    for number, loop in enumerate(schedule.loops[level + 1 :], level + 1):
        replaced = not stays or number < schedule.core_depth or loop.dim not in streamed
        if replaced and extents[loop.dim] > loop.step:
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
    place = placement(statement, array)
    steps = ((place.cycles(length), count) for length, count in blocks.items())
    return array.wait(sum(count * -(-length // array.tile_m) for length, count in steps))


def has_one_stationary_tile(nest: Nest, schedule: Schedule, array: Array) -> bool:
    """
    Whether a nest of one statement uses a single stationary tile, which may then be loaded before or used after it.
    """
    if len(nest.statements) != 1 or array.dataflow != "in-place" or schedule.core_depth:
        return False
    statement = next(iter(nest.statements))
    streamed = streamed_dims(nest, statement, array)
    return single_fold(nest, statement, array, nest.sizes | dict.fromkeys(streamed, 1)) and not any(
        loop.dim not in streamed and loop.step < nest.sizes[loop.dim] for loop in schedule.loops
    )


def transposed(nest: Nest, width: Mapping[str, Width]) -> dict[str, Width]:
    """The tensors that a nest reads transposed (W for dX, X for dW), with their size in bits."""
    found: dict[str, Width] = {}
    for statement in nest.statements:
        product, x, w, _ = product_of(statement)
        if product != "forward":
            side = w if product == "dx" else x
            name = {"out": statement.out, "lhs": statement.lhs, "rhs": statement.rhs}[side]
            found[name] = nest.tensors[name].elements * width[name]
    return found
