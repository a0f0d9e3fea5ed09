"""The time of nests that run round-robin: the array, of which each has a tile operation in turn, and the channel."""

from collections.abc import Iterator
from functools import lru_cache

from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.stationary import carried_passes
from npuc.compiler.analysis.machine.streaming_array import streaming_alone
from npuc.compiler.analysis.timing.interleave import (
    Widths,
    interleaved_compute,
    interleaved_pipeline,
    interleaved_sequence,
    tensor_names,
)
from npuc.compiler.analysis.timing.operations import leaves
from npuc.compiler.analysis.timing.sequence import TileSequence
from npuc.compiler.analysis.timing.serial import run_of
from npuc.compiler.analysis.timing.states import Piece, State, Timeline
from npuc.compiler.analysis.timing.timeline import TILES, TimeWalk, timeline_of
from npuc.compiler.analysis.timing.transfers import alone
from npuc.dialects.npu.shared import RoundRobin

ORDER: tuple[State, ...] = ("fill", "steady", "edge", "drain")
"""The states of a tile operation that is one piece, in their order."""


@lru_cache(maxsize=64)
def interleaved_timeline(together: RoundRobin, machine: Machine, widths: Widths, *, extra: int = 0) -> Timeline:
    """The array's time in nests that run round-robin on one core; `extra` as for `timeline`."""
    array = machine.array
    sequence = interleaved_sequence(together, array, widths)
    streamed = sequence if array.grouped else interleaved_sequence(together, streaming_alone(array), widths)
    overhead = sum(one.overhead for one in interleaved_compute(together, array))
    cycles = interleaved_pipeline(together, machine, widths).cycles + extra
    late = machine.channel_bits.numerator * (overhead and (array.filling if array.stages is None else 0))
    pieces = tuple(_pieces(together, machine, sequence, streamed, late))
    parts = list(_parts(together, machine, widths))
    return timeline_of(
        sequence, streamed, machine, cycles, overhead, pieces, parts, carried_passes(together.nests, array), extra=extra
    )


def _parts(together: RoundRobin, machine: Machine, widths: Widths) -> Iterator[tuple[str, TileSequence]]:
    """What moves of each tensor of each nest, by the names that the tensors have together."""
    silent = [alone(nest, width, ()) for nest, width in zip(together.nests, widths, strict=True)]
    for number, (nest, names) in enumerate(zip(together.nests, tensor_names(together), strict=True)):
        for name in nest.tensors:
            own = (*silent[:number], alone(nest, widths[number], (name,)), *silent[number + 1 :])
            sequence = interleaved_sequence(together, machine.array, own)
            if sequence.moved:
                yield names[name], sequence


def _turns(together: RoundRobin, machine: Machine) -> Iterator[int]:
    """The number of the nest of each tile operation: one of each in turn, of those that have any left."""
    left = [
        compute(nest, schedule, machine.array, isolated=True).tiles
        for nest, schedule in zip(together.nests, together.schedules, strict=True)
    ]
    while any(left):
        for number, count in enumerate(left):
            if count:
                left[number] -= 1
                yield number


def _pieces(
    together: RoundRobin, machine: Machine, sequence: TileSequence, streamed: TileSequence, late: int
) -> Iterator[Piece]:
    """The first tile operations, each as one: what it waits for and what the array does."""
    run = run_of(machine)
    p, walk = run.per_cycle, TimeWalk(run, machine, 0, alike=False)
    operations = zip(
        leaves(sequence.root, sequence.head),
        leaves(streamed.root, streamed.head),
        _turns(together, machine),
        range(TILES),
        strict=False,
    )
    for (leaf, moved), (other, _), nest, tile in operations:
        before = run.comp
        run.repeat(leaf, moved, 1)
        at = before + (late if tile else 0)
        working = p * leaf.cycles
        if wait := run.comp - before - working:
            yield Piece("stall", at, wait, tile, None, nest)
            at += wait
        if late and not tile:
            yield Piece("fill", at, late, tile, None, nest)
            at += late
        done = walk.stretch(working, working, p * (other.cycles - other.waits), p * leaf.waits)
        for state in ORDER:
            if ticks := getattr(done, state):
                yield Piece(state, at, ticks, tile, 0, nest)
                at += ticks
