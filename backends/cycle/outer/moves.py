"""
What moves between the levels of memory on the chip, by the traffic of each (`analysis/machine/levels`).

An access of a level is a byte that the memory inside of it reads or writes there, or that the one outside brings or
takes: every byte passes through all levels. Its energy counts both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import at_level, level_names, views_of
from npuc.compiler.analysis.nest.common import common_bytes
from npuc.compiler.analysis.nest.cores import core_traffic
from npuc.compiler.analysis.nest.elements import Bits
from npuc.compiler.analysis.nest.traffic import bytes_by_tensor
from npuc.compiler.core.frozen import frozen
from npuc.compiler.report.levels import LevelFacts
from npuc.dialects.npu.nest import Nest, Schedule


@frozen
class LevelMoves:
    """
    Bytes read and written across each boundary between memories, from that of the scratchpads to that of DRAM; without
    further levels there is one. `held` are those of blocks in each level outside of the scratchpads.
    """

    moved: tuple[tuple[int, int], ...]
    held: tuple[int, ...]


def level_moves(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits) -> LevelMoves:
    """What a scheduled nest moves between the levels of a machine."""
    moved: list[tuple[int, int]] = []
    views = views_of(schedule, machine)
    for view in views:
        channel = core_traffic(nest, view.schedule, view.machine.multicast, view.machine.reduction).channel
        rows = bytes_by_tensor(nest, channel, widths).values()
        moved.append((sum(read for read, _ in rows), sum(write for _, write in rows)))
    return LevelMoves(tuple(moved), tuple(common_bytes(nest, view.schedule, widths) for view in views[1:]))


def streamed_moves(read: int, written: int, machine: Machine) -> LevelMoves:
    """What work moves that streams through all levels."""
    return LevelMoves(((read, written),) * (1 + len(machine.levels)), (0,) * len(machine.levels))


def level_facts(moves: LevelMoves, machine: Machine, bound: Callable[[Machine, int], int]) -> LevelFacts | None:
    """
    The section of a row; None of a machine without further levels. `bound` is the lower bound of what moves between a
    memory, as a machine sees it, and what is outside of it, where so many bytes were moved.
    """
    if not machine.levels:
        return None
    inner = moves.moved[: len(machine.levels)]
    machines = [view.machine for view in views_of(Schedule(), machine)]
    joules = level_joules(moves, machine)
    return LevelFacts(
        levels=list(level_names(machine)),
        level_read_bytes=[read for read, _ in inner],
        level_write_bytes=[write for _, write in inner],
        level_bound_bytes=[bound(one, sum(both)) for one, both in zip(machines, inner, strict=False)],
        level_held_bytes=list(moves.held),
        level_transfer_cycles=[one.transfer_cycles(sum(both)) for one, both in zip(machines, inner, strict=False)],
        level_j=joules if machine.energy is not None else None,
    )


def level_joules(moves: LevelMoves, machine: Machine) -> list[float]:
    """The energy of each level's accesses; of one whose energy is not said 0."""
    totals = [sum(both) for both in moves.moved]
    return [
        1e-12 * (level.pj_per_byte or 0.0) * (totals[number] + totals[number + 1])
        for number, level in enumerate(machine.levels)
    ]


def longest_transfer(moves: LevelMoves, machine: Machine) -> int:
    """The cycles of the longest transfers among those inside of the last level; 0 without further levels."""
    sizes = [sum(both) for both in moves.moved[: len(machine.levels)]]
    return max((at_level(machine, number).transfer_cycles(size) for number, size in enumerate(sizes)), default=0)


def added_joules(energy: float | None, joules: Sequence[float]) -> float | None:
    """An energy with that of further levels."""
    return energy if energy is None or not joules else energy + sum(joules)
