"""
What a schedule of a nest of plain axes takes at least, in closed form, without a walk of its tile operations.

Let L be the bits that come before the first tile operation, F those written after the last one, M all bits that move,
r the bits of the channel in a cycle. In the recurrence of `timing/double_buffer.py` the first operation waits for L and
all others follow it, so that the array's cycles C begin after L / r; F / r follows them:

    time >= L / r + C + F / r

Another bound is that of the last tile operation (`last_tile.py`).

Without double buffering the time is M / r + C. All is exact in integers and rounded once, as the exact time is: so no
bound exceeds the time by rounding.
"""

from functools import lru_cache
from math import prod

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.machine.stationary import carried_passes, members, placement
from npuc.compiler.analysis.nest.blocks import group_lengths, streams
from npuc.compiler.analysis.nest.elements import BYTE, Bits, Width
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import ExactCost
from npuc.compiler.analysis.schedule.floors.last_tile import cycles_with, last_cycles, once
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Nest, Schedule


@lru_cache(maxsize=16384)
def exposed_bits(nest: Nest, schedule: Schedule, widths: Bits) -> Width:
    """
    The bits that move before the first tile operation and after the last one, which nothing can hide.

    All axes are plain, sums start from zero, and no loop runs over cores.
    """
    stored, total = widths.by_name(nest), 0
    for stream in streams(nest, schedule):
        sums, extents = stream.kind == "accumulator", {dim: nest.sizes[dim] for dim in stream.tensor.dims}
        for loop in (schedule.loops[p] for p in stream.loops):
            if loop.dim in extents:
                extent = extents[loop.dim]
                extents[loop.dim] = (extent - 1) % loop.step + 1 if sums else min(extent, loop.step)
        total += stored[stream.tensor.name] * prod(extents.values())
    return total


@lru_cache(maxsize=16384)
def least_cycles(nest: Nest, schedule: Schedule, array: Array) -> int:
    """A lower bound of the array cycles of a schedule: all folds of its tiles, without waits and reloads."""
    if array.stages is not None:
        return 0
    if array.row_stationary is not None:
        from npuc.compiler.analysis.machine.row_bounds import cycles_of_small_tiles

        return cycles_of_small_tiles(nest, array, dict(nest.sizes) | {loop.dim: loop.step for loop in schedule.loops})
    cycles = 0
    for statement in nest.statements:
        view, place = gemm_view(nest, statement), placement(statement, array)
        folds = prod(nest.sizes[dim] for dim in view.batch)
        rows, cols, streamed = (members(view, role) for role in (place.rows, place.cols, place.streamed))
        for dims, side in ((rows, array.rows), (cols, array.cols)):
            tiles = group_lengths(nest, schedule, dims)
            folds *= sum(count * -(-size // side) for size, count in tiles.items())
        lengths = group_lengths(nest, schedule, streamed)
        cycles += folds * sum(n * (place.cycles(length) + array.fold_overhead) for length, n in lengths.items())
    return int(cycles)


def least_time(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits) -> float:
    """A lower bound of the time of a schedule, by its folds and what nothing hides."""
    cycles = least_cycles(nest, schedule, machine.array) + once(machine.array)
    if not machine.double_buffer:
        return float(cycles)
    return cycles_with(cycles, exposed_bits(nest, schedule, widths), machine)


def least_cost(
    nest: Nest, schedule: Schedule, machine: Machine, objective: Objective, widths: Bits, limit: float
) -> float:
    """
    What a schedule costs at least, without its time tile by tile, exact but for that; or less where that is no less
    than `limit`.
    """
    moved, array = moved_bits(nest, traffic(nest, schedule), widths), machine.array
    transfer = float(moved / machine.channel_bits)
    if objective == "time":
        last = last_cycles if machine.double_buffer else least_cycles
        transfer = cycles_with(last(nest, schedule, array) + once(array), moved, machine)
        if transfer >= limit:
            return transfer
    work = compute(nest, schedule, configured(nest, schedule, array))
    held = widths.with_sums(nest)
    passed = moved + sum(held[name] * elements for name, elements in work.accesses.items())
    hidden = exposed_bits(nest, schedule, widths) if machine.double_buffer else moved
    time = max(cycles_with(work.cycles, hidden, machine), transfer)
    return without_walk(nest, machine, time, moved, passed).score(objective)


def without_walk(nest: Nest, machine: Machine, time: float, moved: Width, spm: Width) -> ExactCost:
    """Cycles, bits on the channel, and the energy for these and so many bits in and out of SPM."""
    energy = machine.energy
    return ExactCost(
        time,
        moved,
        None if energy is None else energy.joules(carried_passes((nest,), machine.array), spm / BYTE, moved / BYTE),
    )
