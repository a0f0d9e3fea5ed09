"""
Compute cycles and SPM accesses of a scheduled nest, in closed form.

A tile operation runs its statements one after another, each as the GEMM of its view, once per element of its batch
dimensions. Cycles and accesses of a tile are products of one factor for each of M, N, K and batch, and every dimension
belongs to one of these groups, so that the sum over all tiles is a product of four sums. Reuse of stationary tiles
(`stationary.py`) and waits of folds for the array's edge (`edge.py`) are counted separately.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import product
from math import prod

from npuc.compiler.analysis.machine.array import Array, Group
from npuc.compiler.analysis.machine.edge import crossing_lower_bound, edge_cycles, tile_edge_cycles, tile_groups
from npuc.compiler.analysis.machine.row_choice import configured, works
from npuc.compiler.analysis.machine.row_passes import PassWork
from npuc.compiler.analysis.machine.row_roles import roles_of
from npuc.compiler.analysis.machine.stationary import members, placement, stationary_reuse, streamed_dims
from npuc.compiler.analysis.nest.blocks import group_lengths, lengths, touched
from npuc.compiler.analysis.nest.cores import part_nest
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule, Statement


@frozen
class Compute:
    """
    The work of the array for one nest.

    `cycles` is the time of all tiles without waits for data. It includes `overhead` (fill and drain paid once) and
    `edge`, the waits of fold groups for the array's edge. `tiles` is the number of tile operations, `groups` that of
    fold groups, each on a stationary tile of its own, `reloads` that of replaced stationary tiles (0 where replacing
    takes no time of its own), `instructions` that of instructions of `array.tile_m` streamed rows. `accesses` counts
    the elements of each tensor that the array reads from SPM, or for an output writes to it: partial sums of later
    folds accumulate where they are written. A row-stationary array reads those back that it adds to, which are in
    `returned`, too; `filling` is the time in which its passes begin and end.
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
    filling: int = 0
    returned: Mapping[str, int] = field(default_factory=dict[str, int])


def tile_cycles(nest: Nest, array: Array, extents: Mapping[str, int], found: tuple[int, ...] = ()) -> int:
    """
    The cycles of one tile operation, given the extent of each dimension; includes waits for the edge within it.

    Where reuse of stationary tiles skips reloads, `found` is -1 for each statement that reuses its tile; otherwise the
    cycles that the group of instructions which begins here waits for the next weights. Empty: every tile is reloaded
    and no such wait counts. A row-stationary array is configured for the nest.
    """
    if array.row_stationary is not None:
        return sum(work.cycles for work in works(nest, array, extents))
    total = tile_groups(nest, array, extents).waits if array.most_shift else 0
    for number, statement in enumerate(nest.statements):
        batch, m, n, k = gemm_view(nest, statement).sizes(extents)
        size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
        folds = batch * -(-size[place.rows] // array.rows) * -(-size[place.cols] // array.cols)
        total += folds * array.stream(place.steps(size))
        if array.skips_reloads and (not found or found[number] >= 0):
            own = array.wait(-(-place.steps(size) // array.tile_m)) if folds > 1 else found[number] if found else 0
            total += folds * (array.reload + own)
    return total


def isolated_waits(nest: Nest, array: Array, extents: Mapping[str, int]) -> tuple[int, ...]:
    """The argument `found` of `tile_cycles` for an operation that shares no weights with its neighbours."""
    streamed = [
        placement(s, array).cycles(prod(extents[d] for d in streamed_dims(nest, s, array))) for s in nest.statements
    ]
    return tuple(array.wait(-(-size // array.tile_m)) for size in streamed)


@lru_cache(maxsize=4096)
def compute(
    nest: Nest, schedule: Schedule, array: Array, *, tile_loaded: bool = False, isolated: bool = False
) -> Compute:
    """
    The work of all tile operations of a scheduled nest.

    With `tile_loaded` the operation before left the stationary tile in the array (`has_one_stationary_tile`). With
    `isolated` no tile operation reuses a stationary tile, since other contractions run between any two.
    """
    if array.row_stationary is not None:
        return _passes(nest, schedule, configured(nest, schedule, array))
    overhead = array.op_overhead
    if array.skips_reloads and not isolated:
        # No weights follow the last group.
        overhead -= stationary_reuse(nest, schedule, array, nest.statements[-1]).last
    edge = (tile_edge_cycles if isolated else edge_cycles)(nest, schedule, array)
    cycles, folds, tiles, reloads, instructions, groups = overhead + edge, 0, 0, 0, 0, 0
    accesses = dict.fromkeys(nest.tensors, 0)
    for statement in nest.statements:
        part = _statement(nest, schedule, array, statement, tile_loaded, isolated)
        cycles, folds, tiles, reloads = cycles + part.cycles, folds + part.folds, part.tiles, reloads + part.reloads
        instructions, groups = instructions + part.instructions, groups + part.groups
        for name, elements in part.accesses.items():
            accesses[name] += elements
    return Compute(cycles, overhead, folds, tiles, reloads, instructions, accesses, groups, edge)


def all_work(of_cores: Iterable[tuple[Compute, int]]) -> Compute:
    """The work of several arrays together, each with the number of cores whose arrays do the same."""
    total = Compute(0, 0, 0, 0, 0, 0, {})
    for work, cores in of_cores:
        total = Compute(
            cycles=total.cycles + cores * work.cycles,
            overhead=total.overhead + cores * work.overhead,
            folds=total.folds + cores * work.folds,
            tiles=total.tiles + cores * work.tiles,
            reloads=total.reloads + cores * work.reloads,
            instructions=total.instructions + cores * work.instructions,
            accesses=_more(total.accesses, work.accesses, cores),
            groups=total.groups + cores * work.groups,
            edge=total.edge + cores * work.edge,
            filling=total.filling + cores * work.filling,
            returned=_more(total.returned, work.returned, cores),
        )
    return total


def _more(total: Mapping[str, int], own: Mapping[str, int], cores: int) -> dict[str, int]:
    return {name: total.get(name, 0) + cores * elements for name, elements in own.items()}


def cycles_lower_bound(nests: Sequence[Nest], array: Array) -> int:
    """
    A lower bound of the compute cycles of nests in one operation on one core, over all schedules.

    It is the larger of the cycles of all whole folds and of the waits for the edge (`edge_cycles_lower_bound`). On
    arrays that skip reloads it is the work of the untiled nests.
    """
    if array.row_stationary is not None:
        from npuc.compiler.analysis.machine.row_bounds import row_cycles_lower_bound

        return row_cycles_lower_bound(nests, array)
    if array.skips_reloads:
        untiled = [compute(nest, Schedule(), array, isolated=len(nests) > 1) for nest in nests]
        return sum(work.cycles for work in untiled) - sum(work.overhead for work in untiled[1:])
    streaming = array.op_overhead + sum(fold_cycles(nest, nest.sizes, array) for nest in nests)
    return max(streaming, edge_cycles_lower_bound(nests, array))


def part_cycles_lower_bound(nest: Nest, extents: Mapping[str, int], array: Array) -> int:
    """The lower bound of a part of a nest, given the extent of each dimension."""
    if array.skips_reloads or array.row_stationary is not None:
        return cycles_lower_bound((part_nest(nest, {dim: (0, extents[dim]) for dim in nest.sizes}),), array)
    streaming = array.op_overhead + fold_cycles(nest, extents, array)
    crossing = crossing_lower_bound(nest, array, extents)
    return max(streaming, _after_crossing(crossing, array))


def fold_cycles(nest: Nest, extents: Mapping[str, int], array: Array) -> int:
    """The cycles in which all folds of extents stream, on an array that never skips a reload."""
    cycles = 0
    for statement in nest.statements:
        batch, m, n, k = gemm_view(nest, statement).sizes(extents)
        size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
        folds = batch * -(-size[place.rows] // array.rows) * -(-size[place.cols] // array.cols)
        cycles += folds * array.stream(place.steps(size))
    return cycles


def edge_cycles_lower_bound(nests: Sequence[Nest], array: Array, cores: int = 1) -> int:
    """
    A lower bound, from transfers across the array's edge, of the compute cycles of nests in one operation, over all
    schedules; 0 where folds never wait for the edge.

    Stationary tiles cross the edge for all groups of a core but one at an end of the sequence, beside groups of which
    the one at the other end streams at least a cycle itself; some core has at least its share of all. docs/bounds.md,
    "Time", has the proof.
    """
    return _after_crossing(-(-sum(crossing_lower_bound(nest, array) for nest in nests) // cores), array)


def _after_crossing(crossing: int, array: Array) -> int:
    """The least cycles of a core whose stationary tiles cross the edge in so many."""
    return array.op_overhead + crossing - array.most_shift + 1 if crossing else 0


def busy_cycles_lower_bound(nests: Sequence[Nest], array: Array, cores: int = 1) -> int:
    """
    A lower bound of the compute cycles of the busiest core for nests in one operation, over all schedules: the larger
    of whole folds with every reload but one, after the fill and drain that each core pays once, and of the edge's
    bound.
    """
    if array.row_stationary is not None:
        from npuc.compiler.analysis.machine.row_bounds import row_cycles_lower_bound

        return row_cycles_lower_bound(nests, array, cores)
    busy = 0
    for nest in nests:
        for statement in nest.statements:
            batch, m, n, k = gemm_view(nest, statement).sizes(nest.sizes)
            size, place = {"m": m, "n": n, "k": k}, placement(statement, array)
            tiles = batch * -(-size[place.rows] // array.rows) * -(-size[place.cols] // array.cols)
            busy += tiles * (array.stream(place.steps(size)) + array.reload)
    # The operation before may have left the first tile.
    busy -= array.reload
    return max(array.op_overhead - (-busy // cores), edge_cycles_lower_bound(nests, array, cores))


def _passes(nest: Nest, schedule: Schedule, array: Array) -> Compute:
    """The work of a row-stationary array that is configured for the nest: each tile operation by its extents."""
    cut = {dim: lengths(size, tuple(lo.step for lo in schedule.loops if lo.dim == dim)) for dim, size in nest.dims}
    found, tiles = [PassWork() for _ in nest.statements], 0
    for parts in product(*cut.values()):
        extents = {dim: size for dim, (size, _) in zip(cut, parts, strict=True)}
        count = prod(times for _, times in parts)
        tiles += count
        found = [one.plus(own, count) for one, own in zip(found, works(nest, array, extents), strict=True)]
    accesses, returned = dict.fromkeys(nest.tensors, 0), dict[str, int]()
    for statement, work in zip(nest.statements, found, strict=True):
        roles = roles_of(nest, statement)
        # Only the first sums of all are not taken back to be added to.
        returned[roles.out] = work.sums - touched(nest.tensors[roles.out], nest.sizes)
        accesses[roles.out] += work.sums + returned[roles.out]
        accesses[roles.ifmap] += work.inputs
        accesses[roles.filter] += work.weights
    return Compute(
        cycles=sum(work.cycles for work in found),
        overhead=0,
        folds=sum(work.passes for work in found),
        tiles=tiles,
        reloads=0,
        instructions=0,
        accesses=accesses,
        groups=sum(work.loads for work in found),
        edge=sum(work.edge for work in found),
        filling=sum(work.filling for work in found),
        returned=returned,
    )


def _statement(
    nest: Nest, schedule: Schedule, array: Array, statement: Statement, tile_loaded: bool, isolated: bool
) -> Compute:
    view = gemm_view(nest, statement)
    groups = {"m": view.m, "n": view.n, "k": view.k, "batch": view.batch}
    sizes = {name: group_lengths(nest, schedule, dims) for name, dims in groups.items()}

    def total(name: str, factor: Callable[[int], int]) -> int:
        return sum(factor(size) * count for size, count in sizes[name].items())

    def steps(factor: Callable[[int], int]) -> int:
        """The sum of a factor over what the folds of all tiles stream."""
        return total(streamed, lambda size: factor(place.cycles(size)))

    def instructions(steps: int) -> int:
        return -(-steps // array.tile_m)

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
    if array.skips_reloads and isolated:
        reloads = folds
        waits = batch * row_folds * col_folds * steps(lambda size: array.wait(instructions(size)))
    elif array.reuses_stationary and not isolated:
        found = stationary_reuse(nest, schedule, array, statement)
        alone = folds - found.tiles - tile_loaded
        if array.skips_reloads:
            waits, reloads = found.waits, alone
        name = place.stationary(statement)
        accesses[name] -= found.elements
        if tile_loaded:
            fixed = (dim for dim in nest.sizes if dim not in members(view, streamed))
            accesses[name] -= prod(nest.sizes[dim] for dim in fixed)
    return Compute(
        cycles=batch * row_folds * col_folds * steps(array.stream) + reloads * array.reload + waits,
        overhead=0,
        folds=folds,
        tiles=tiles("m") * tiles("n") * tiles("k") * tiles("batch"),
        reloads=reloads,
        instructions=batch * row_folds * col_folds * steps(instructions),
        accesses=accesses,
        groups=alone,
    )
