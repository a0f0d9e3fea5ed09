"""
The array's work of a scheduled nest, in closed form.

A tile operation runs its statements one after another, each as the GEMM its view says, once for every element of
its batch dimensions. Cycles and accesses of a tile are products of one factor for each of M, N, K and batch, and
every dimension is in one of these groups, so that the sum over all tiles is the product of four sums. Tile operations
that find their stationary tile in the elements (`stationary.py`) are counted by themselves, and so are the waits of
folds for what crosses the array's edge (`edge.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from npuc.compiler.analysis.machine.array import Array, Group
from npuc.compiler.analysis.machine.edge import edge_cycles, least_crossing, tile_edge_cycles, tile_groups
from npuc.compiler.analysis.machine.stationary import kept, members, placement, streamed_dims
from npuc.compiler.analysis.nest.blocks import group_lengths
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule, Statement


@dataclass(frozen=True)
class Compute:
    """
    Work of the array for one nest.

    `cycles` are those of all tiles with no data to wait for. They include `overhead` (fill and drain paid once) and
    `edge`, in which groups of folds wait for what crosses the array's edge. `tiles` is the number of tile operations,
    `groups` that of folds on a stationary tile of their own, `reloads` counts changes of the tile that stays in the
    elements (0 where they take no time by themselves), `instructions` are those of `array.tile_m` streamed rows.
    `accesses` are the elements of each tensor that the array reads from SPM, or writes to it for an output: partial
    sums of a later fold add up where they are written.
    """

    cycles: int
    overhead: int
    folds: int
    tiles: int
    reloads: int
    instructions: int
    accesses: Mapping[str, int]
    groups: int = 0
    edge: int = 0


def tile_cycles(nest: Nest, array: Array, extents: Mapping[str, int], found: tuple[int, ...] = ()) -> int:
    """
    The cycles of one tile operation, a dimension's extent in it by name; of folds that wait for the array's edge, with
    what they wait within it.

    Of others, `found` is -1 for each statement whose stationary tile is in the elements already; else the cycles that
    the group of instructions which begins here waits for the next weights. Empty for neither.
    """
    total = tile_groups(nest, array, extents).waits if array.most_shift else 0
    for number, statement in enumerate(nest.statements):
        batch, m, n, k = gemm_view(nest, statement).sizes(extents)
        size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
        folds = batch * -(-size[place.rows] // array.rows) * -(-size[place.cols] // array.cols)
        total += folds * array.stream(size[place.streamed])
        if array.carries and (not found or found[number] >= 0):
            own = array.wait(-(-size[place.streamed] // array.tile_m)) if folds > 1 else found[number] if found else 0
            total += folds * (array.reload + own)
    return total


def waits_apart(nest: Nest, array: Array, extents: Mapping[str, int]) -> tuple[int, ...]:
    """`found` of `tile_cycles` for an operation that shares no weights with its neighbours, or finds them."""
    streamed = [prod(extents[d] for d in streamed_dims(nest, s, array)) for s in nest.statements]
    return tuple(array.wait(-(-size // array.tile_m)) for size in streamed)


@lru_cache(maxsize=4096)
def compute(nest: Nest, schedule: Schedule, array: Array, held: bool = False, apart: bool = False) -> Compute:
    """
    The work of all tiles of a scheduled nest.

    `held`: the operation before left the stationary tile in the elements (`residency.holds_one_tile`). `apart`: no
    tile operation finds its tile there, as others run between any two.
    """
    overhead = array.op_overhead
    if array.carries and not apart:
        # No weights follow the last group.
        overhead -= kept(nest, schedule, array, nest.statements[-1]).last
    edge = (tile_edge_cycles if apart else edge_cycles)(nest, schedule, array)
    cycles, folds, tiles, reloads, instructions, groups = overhead + edge, 0, 0, 0, 0, 0
    accesses = dict.fromkeys(nest.tensors, 0)
    for statement in nest.statements:
        part = _statement(nest, schedule, array, statement, held, apart)
        cycles, folds, tiles, reloads = cycles + part.cycles, folds + part.folds, part.tiles, reloads + part.reloads
        instructions, groups = instructions + part.instructions, groups + part.groups
        for name, elements in part.accesses.items():
            accesses[name] += elements
    return Compute(cycles, overhead, folds, tiles, reloads, instructions, accesses, groups, edge)


def least_cycles(nests: Sequence[Nest], array: Array) -> int:
    """
    What no schedules of nests in one operation of one core are below, in cycles of the array.

    Every nest has its whole folds, or waits for the edge (`least_edge_cycles`). For arrays that keep tiles by a rule of
    their own it is the work of the nests uncut.
    """
    works = [compute(nest, Schedule(), array, apart=len(nests) > 1) for nest in nests]
    streaming = sum(work.cycles - work.edge for work in works) - sum(work.overhead for work in works[1:])
    return max(streaming, least_edge_cycles(nests, array))


def least_edge_cycles(nests: Sequence[Nest], array: Array, cores: int = 1) -> int:
    """
    What no schedules of nests in one operation are below by what crosses the edge; 0 where folds never wait for it.

    What is stationary crosses the edge for all groups of a core but one, at an end of the sequence, beside groups of
    which the other end's streams at least a cycle itself; one core has at least its share of all. docs/bounds.md,
    "Time", has the proof.
    """
    crossing = sum(least_crossing(nest, array) for nest in nests)
    return array.op_overhead + -(-crossing // cores) - array.most_shift + 1 if crossing else 0


def least_busy_cycles(nests: Sequence[Nest], array: Array, cores: int = 1) -> int:
    """
    What no schedules of nests in one operation are below, in cycles of the busiest core's array: whole folds, with all
    changes but one of tiles that take time by themselves, after the fill and drain that each core pays once; or the
    edge.
    """
    busy = 0
    for nest in nests:
        for statement in nest.statements:
            batch, m, n, k = gemm_view(nest, statement).sizes(nest.sizes)
            size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
            tiles = batch * -(-size[place.rows] // array.rows) * -(-size[place.cols] // array.cols)
            busy += tiles * (array.stream(size[place.streamed]) + array.reload)
    # The operation before may have left the first one.
    busy -= array.reload
    return max(array.op_overhead - (-busy // cores), least_edge_cycles(nests, array, cores))


def _statement(nest: Nest, schedule: Schedule, array: Array, statement: Statement, held: bool, apart: bool) -> Compute:
    view = gemm_view(nest, statement)
    groups = {"m": view.m, "n": view.n, "k": view.k, "batch": view.batch}
    sizes = {name: group_lengths(nest, schedule, dims) for name, dims in groups.items()}

    def total(name: str, factor: Callable[[int], int]) -> int:
        return sum(factor(size) * count for size, count in sizes[name].items())

    def whole(name: str) -> int:
        return total(name, lambda size: size)

    def tiles(name: str) -> int:
        return total(name, lambda _: 1)

    place = placement(statement, array)
    rows, cols, streamed = place.rows, place.cols, place.streamed
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
    folds = batch * row_folds * col_folds * tiles(streamed)
    reloads = 0
    waits = 0
    alone = folds
    if array.carries and apart:
        reloads = folds
        waits = batch * row_folds * col_folds * total(streamed, lambda size: array.wait(-(-size // array.tile_m)))
    elif array.keeps and not apart:
        found = kept(nest, schedule, array, statement)
        alone = folds - found.tiles - held
        if array.carries:
            waits, reloads = found.waits, alone
        name = place.stationary(statement)
        accesses[name] -= found.elements
        if held:
            fixed = (dim for dim in nest.sizes if dim not in members(view, streamed))
            accesses[name] -= prod(nest.sizes[dim] for dim in fixed)
    return Compute(
        cycles=batch * row_folds * col_folds * total(streamed, array.stream) + reloads * array.reload + waits,
        overhead=0,
        folds=folds,
        tiles=tiles("m") * tiles("n") * tiles("k") * tiles("batch"),
        reloads=reloads,
        instructions=batch * row_folds * col_folds * total(streamed, lambda size: -(-size // array.tile_m)),
        accesses=accesses,
        groups=alone,
    )
