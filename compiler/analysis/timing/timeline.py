"""
The states of the array over the time of a scheduled nest: streaming, fill, drain, waits for its edge, and stalls.

The times follow the recurrence of `double_buffer.py`, evaluated in pieces: a part of the tile sequence that is short
relative to the whole, or never waits, is one piece, any other is split. So the sums are exact, and the cost depends on
the resolution, not on the number of tile operations. The first operations are resolved fold by fold.

The unit of time is a tick of 1/p cycle, with p the numerator of the channel's bits per cycle. With `fill = "overlap"`
the fill precedes the first fold of an operation and the drain follows its last; the wait of a group of folds for the
array's edge follows the first of them (`analysis/machine/edge.py`). All time that is neither compute nor such a wait is
stall. In an in-place array reloads of stationary tiles count as fill; in a register-fed array everything but the rows
that instructions stream does, and what follows the last instruction is drain. In a row-stationary array fill is the
time in which passes begin and end, and a tile operation is resolved as one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.machine.stationary import carried_passes
from npuc.compiler.analysis.machine.streaming_array import streaming_alone
from npuc.compiler.analysis.nest.elements import Bits, Width
from npuc.compiler.analysis.timing.double_buffer import core_runs, pipeline, slowest_core
from npuc.compiler.analysis.timing.operations import (
    edge_waits,
    least_cycles,
    leaves,
    longest_fold,
    pass_parts,
    tile_extents,
    tile_folds,
)
from npuc.compiler.analysis.timing.recurrence import Run
from npuc.compiler.analysis.timing.sequence import SequenceNode, TileSequence
from npuc.compiler.analysis.timing.serial import Serial, run_of
from npuc.compiler.analysis.timing.states import Busy, Piece, State, Stretch, Timeline
from npuc.compiler.analysis.timing.tiles import part_sequences, tile_sequence
from npuc.compiler.analysis.timing.transfers import Parts, first_transfers, parts_of
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.products import Passes

RESOLUTION = 1000
"""A part that is shorter than the whole by this factor is not split."""
FOLDS = 256
"""The most folds that are listed one by one."""
TILES = 16
"""The most tile operations that are listed fold by fold."""


@dataclass
class TimeWalk:
    """
    Splits the sequence into stretches, and notes what the DRAM channel does meanwhile in `channel`.

    `shortest` are the ticks below which a part stays whole; `alike` says that the folds of a tile operation are equal.
    """

    run: Run | Serial
    machine: Machine
    shortest: int
    alike: bool
    channel: list[Busy] = field(default_factory=list[Busy])

    def part(self, child: SequenceNode, streamed: SequenceNode, moved: Width, count: int) -> Iterator[Stretch]:
        """The stretches of `count` equal parts; `streamed` is the same part on an array without fill and drain."""
        run, begin, state, sent = self.run, self.run.comp, self.run.state(), self.run.sent
        run.repeat(child, moved, count)
        ticks, compute = run.comp - begin, count * child.cycles * run.per_cycle
        steady = count * (streamed.cycles - streamed.waits) * run.per_cycle
        edge = count * child.waits * run.per_cycle
        whole = ticks <= self.shortest or ticks == steady
        if whole or (count == 1 and not child.items):
            busy = count * (moved + child.moved) * self.machine.channel_bits.denominator
            self.channel += [Busy(sent, run.sent, busy)] if busy else []
        if whole:
            yield self.stretch(ticks, compute, steady, edge)
            return
        if count == 1 and not child.items:
            yield Stretch(stall=ticks - compute)
            yield from self._operation(compute, steady, edge)
            return
        run.restore(state)
        if count > 1:
            yield from self.part(child, streamed, moved, count // 2)
            yield from self.part(child, streamed, moved, count - count // 2)
            return
        for number, (item, other) in enumerate(zip(child.items, streamed.items, strict=True)):
            yield from self.part(item[0], other[0], item[1] if number else moved, item[2])

    def _operation(self, compute: int, steady: int, edge: int) -> Iterator[Stretch]:
        """A tile operation that is long enough to be looked at, after its wait: fold by fold where folds pay."""
        array, p = self.machine.array, self.run.per_cycle
        folds = (compute - steady - edge) // (p * max(array.latency, 1))
        if not self.alike or not 0 < folds <= FOLDS:
            yield self.stretch(compute, compute, steady, edge)
            return
        for _ in range(folds):
            yield Stretch(fill=p * array.filling)
            yield Stretch(steady=steady // folds)
            yield Stretch(drain=p * array.draining)

    def stretch(self, ticks: int, compute: int, steady: int, edge: int) -> Stretch:
        """A part of the time as one, of which the array computes so long: its states."""
        array = self.machine.array
        if array.grouped:
            return Stretch(steady=steady, stall=ticks - compute, edge=edge)
        if array.row_stationary is not None:
            return Stretch(compute - steady - edge, steady, 0, ticks - compute, edge)
        if array.reload or array.stages is not None:
            return Stretch(compute - steady, steady, 0, ticks - compute)
        # Every fold pays the same, so that this divides.
        fill = (compute - steady) * array.filling // max(array.latency, 1)
        return Stretch(fill, steady, compute - steady - fill, ticks - compute)


@lru_cache(maxsize=64)
def timeline(
    nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, *, tile_loaded: bool = False, extra: int = 0
) -> Timeline:
    """
    The array's time in a scheduled nest.

    Over several cores it is the array of the slowest. `tile_loaded`: the operation before left the stationary tile in
    the array. `extra` cycles follow in which data moves that the pipeline knows nothing of.
    """
    array, on_chip = machine.array, machine.reduction == "on-chip"
    whole, run = pipeline(nest, schedule, machine, widths, tile_loaded=tile_loaded).cycles + extra, nest
    if schedule.core_depth:
        number = slowest_core(nest, schedule, machine, widths)
        core = core_runs(nest, schedule, machine, widths)[number]
        sequence, run = core.sequence, core.part.nest
        shown, plan, own = core.part.nest, core.part.schedule, core.machine
    else:
        number, sequence = 0, tile_sequence(nest, schedule, array, widths, tile_loaded=tile_loaded)
        shown, plan, own = nest, schedule, machine

    def build(array: Array, widths: Bits, *, loaded: bool = False) -> TileSequence:
        if schedule.core_depth:
            return tuple(part_sequences(nest, schedule, array, widths, on_chip_reduction=on_chip))[number]
        return tile_sequence(nest, schedule, array, widths, tile_loaded=loaded)

    # Where folds of an operation overlap, they only stream, or wait for the edge.
    streamed = sequence if array.grouped else build(streaming_alone(array), widths)
    alike = len(nest.statements) == 1 and not array.reload and array.stages is None and array.row_stationary is None
    pieces = tuple(_pieces(shown, plan, own, sequence.root, sequence.head))
    parts = parts_of(nest, widths, partial(build, array, loaded=tile_loaded))
    overhead = compute(shown, plan, array).overhead
    macs = carried_passes((run,), array)
    return timeline_of(sequence, streamed, own, whole, overhead, pieces, parts, macs, extra=extra, alike=alike)


def timeline_of(
    sequence: TileSequence,
    streamed: TileSequence,
    machine: Machine,
    cycles: int,
    overhead: int,
    pieces: tuple[Piece, ...],
    parts: Parts,
    macs: Passes,
    *,
    extra: int = 0,
    alike: bool = False,
) -> Timeline:
    """
    The timeline of tile operations that take so many cycles, `overhead` of them the fill and drain that are paid once.

    `streamed` are they on an array that only streams, `parts` by tensor; `pieces` and `extra` as for `timeline`.
    """
    array, run = machine.array, run_of(machine)
    p, per_bit = run.per_cycle, machine.channel_bits.denominator
    first, whole = sequence.head * per_bit, cycles * p
    walk = TimeWalk(run, machine, whole // RESOLUTION, alike)
    stretches = list(walk.part(sequence.root, streamed.root, sequence.head, 1))
    filling = overhead and (array.filling if array.stages is None else 0)
    last, late = whole - run.comp - p * overhead, p * filling
    opening = stretches[0]
    stretches[:1] = [Stretch(stall=first), Stretch(fill=late), replace(opening, stall=opening.stall - first)]
    stretches += [Stretch(drain=p * (overhead - filling)), Stretch(stall=last)]
    # What follows the first transfer comes later by the fill, as on the array.
    channel = [Busy(0, first, first)]
    for part in walk.channel:
        before = max(0, first - part.begin) if part.begin < first else 0
        channel.append(Busy(part.begin + before + late, part.end + late, part.busy - before))
    channel.append(Busy(whole - last, whole, min(last, sequence.tail * per_bit + extra * p)))
    transfers = first_transfers(parts, sequence, machine, pieces[-1].tile + 1, late) if pieces else ()
    return Timeline(
        p, tuple(s for s in stretches if s.ticks), pieces, first, last, macs, tuple(channel), tuple(transfers)
    )


def _pieces(nest: Nest, schedule: Schedule, machine: Machine, root: SequenceNode, head: Width) -> Iterator[Piece]:
    """The first tile operations, as many as have at most `FOLDS` folds; at least the first folds of the first one."""
    array, run = machine.array, run_of(machine)
    p = run.per_cycle
    late = p * array.filling if array.op_overhead and array.stages is None else 0
    told = 0
    operations = zip(leaves(root, head), tile_extents(nest, schedule, 0, nest.sizes), strict=True)
    for tile, ((leaf, moved), extents) in enumerate(operations):
        before = run.comp
        run.repeat(leaf, moved, 1)
        wait = run.comp - before - p * leaf.cycles
        at = before + (late if tile else 0)
        streamed = leaf.cycles - leaf.waits
        if tile == TILES or (
            tile
            and array.row_stationary is None
            and told + streamed // max(longest_fold(nest, machine, extents), 1) > FOLDS
        ):
            return
        if wait:
            yield Piece("stall", at, wait, tile)
            at += wait
        if late and not tile:
            yield Piece("fill", at, late, tile)
            at += late
        if array.row_stationary is not None:
            for state, cycles in pass_parts(nest, configured(nest, schedule, array), extents):
                yield Piece(state, at, p * cycles, tile, 0)
                at += p * cycles
            continue
        # What the tiles that stay in the array take to change; those that are found there take nothing.
        change = array.reload if leaf.cycles > least_cycles(nest, machine, extents) else 0
        folds = [steps for steps, _ in tile_folds(nest, machine, extents)]
        rest = 0 if array.stages is None else leaf.cycles - sum(array.stream(steps) for steps in folds)
        beside = edge_waits(nest, machine, extents, leaf)
        for fold, (steps, edge) in enumerate(zip(folds, beside, strict=True)):
            told += 1
            if told > FOLDS:
                return
            parts: tuple[tuple[State, int], ...] = (("fill", change), ("steady", steps), ("edge", edge))
            if array.stages is not None:
                fed = -(-steps // array.tile_m) * array.tile_m
                parts = (("fill", array.stream(steps) - fed + (0 if fold else rest)), ("steady", fed))
            elif array.fold_overhead:
                parts = (("fill", change + array.filling), ("steady", steps), ("drain", array.draining))
            for state, cycles in parts:
                if cycles:
                    yield Piece(state, at, p * cycles, tile, fold)
                    at += p * cycles
