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
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from npuc.compiler.analysis.machine.compute import compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.machine.streaming_array import streaming_alone
from npuc.compiler.analysis.nest.elements import Bits
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
from npuc.compiler.analysis.timing.sequence import SequenceNode
from npuc.compiler.analysis.timing.serial import Serial, run_of
from npuc.compiler.analysis.timing.tiles import part_sequences, tile_sequence
from npuc.dialects.npu.nest import Nest, Schedule

State = Literal["fill", "steady", "drain", "edge", "stall"]
STATES: tuple[State, ...] = ("fill", "steady", "drain", "edge", "stall")
RESOLUTION = 1000
"""A part that is shorter than the whole by this factor is not split."""
FOLDS = 256
"""The most folds that are listed one by one."""
TILES = 16
"""The most tile operations that are listed fold by fold."""


@dataclass(frozen=True)
class Stretch:
    """A piece of the array's time and the ticks of each state in it, which are mixed where there are several."""

    fill: int = 0
    steady: int = 0
    drain: int = 0
    stall: int = 0
    edge: int = 0

    @property
    def ticks(self) -> int:
        """Its duration."""
        return self.fill + self.steady + self.drain + self.stall + self.edge


@dataclass(frozen=True)
class Piece:
    """Ticks of one state within the first tile operations; `tile` and `fold` count from 0, None: outside of a fold."""

    state: State
    begin: int
    ticks: int
    tile: int
    fold: int | None = None


@dataclass(frozen=True)
class Timeline:
    """
    The array over the time of an operation.

    `stretches` follow each other and fill `ticks`; `pieces` are the first tile operations, fold by fold. `first` are
    the ticks before the first operation can start, `last` those after the drain. `macs` are the array's.
    """

    per_cycle: int
    stretches: tuple[Stretch, ...]
    pieces: tuple[Piece, ...]
    first: int
    last: int
    macs: int

    @property
    def ticks(self) -> int:
        """The whole time, a whole number of cycles."""
        return sum(s.ticks for s in self.stretches)

    def total(self, state: State) -> int:
        """All ticks of a state."""
        return sum(getattr(s, state) for s in self.stretches)

    def cycles(self, ticks: int) -> float:
        """Ticks as cycles."""
        return ticks / self.per_cycle

    def first_folds(self, count: int) -> tuple[Piece, ...]:
        """The pieces up to the end of the fold of that number, or all that are told."""
        folds = list(dict.fromkeys((piece.tile, piece.fold) for piece in self.pieces if piece.fold is not None))
        if len(folds) <= count:
            return self.pieces
        beyond = next(n for n, piece in enumerate(self.pieces) if (piece.tile, piece.fold) == folds[count])
        while self.pieces[beyond - 1].fold is None:
            beyond -= 1
        return self.pieces[:beyond]

    def buckets(self, count: int) -> list[dict[State, float]]:
        """The share of each state in `count` equal parts of the time."""
        result: list[dict[State, float]] = [dict.fromkeys(STATES, 0.0) for _ in range(count)]
        width, begin = self.ticks / count, 0
        for stretch in self.stretches:
            end = begin + stretch.ticks
            if end > begin:
                for number in range(min(int(begin / width), count - 1), min(int(end / width), count - 1) + 1):
                    part = (min(end, (number + 1) * width) - max(begin, number * width)) / width
                    for state in STATES:
                        result[number][state] += max(part, 0.0) * getattr(stretch, state) / (end - begin)
            begin = end
        return result


@dataclass
class _Walk:
    """
    Splits the sequence into stretches.

    `shortest` are the ticks below which a part stays whole; `alike` says that the folds of a tile operation are equal.
    """

    run: Run | Serial
    machine: Machine
    shortest: int
    alike: bool

    def part(self, child: SequenceNode, streamed: SequenceNode, moved: int, count: int) -> Iterator[Stretch]:
        """The stretches of `count` equal parts; `streamed` is the same part on an array without fill and drain."""
        run, begin, state = self.run, self.run.comp, self.run.state()
        run.repeat(child, moved, count)
        ticks, compute = run.comp - begin, count * child.cycles * run.per_cycle
        steady = count * (streamed.cycles - streamed.waits) * run.per_cycle
        edge = count * child.waits * run.per_cycle
        if ticks <= self.shortest or ticks == steady:
            yield self._stretch(ticks, compute, steady, edge)
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
            yield self._stretch(compute, compute, steady, edge)
            return
        for _ in range(folds):
            yield Stretch(fill=p * array.filling)
            yield Stretch(steady=steady // folds)
            yield Stretch(drain=p * array.draining)

    def _stretch(self, ticks: int, compute: int, steady: int, edge: int) -> Stretch:
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
    streaming = streaming_alone(array)
    cycles = pipeline(nest, schedule, machine, widths, tile_loaded=tile_loaded).cycles
    if schedule.core_depth:
        number = slowest_core(nest, schedule, machine, widths)
        core = core_runs(nest, schedule, machine, widths)[number]
        sequence = core.sequence
        # Where folds of an operation overlap, they only stream, or wait for the edge.
        streamed = (
            sequence
            if array.grouped
            else part_sequences(nest, schedule, streaming, widths, on_chip_reduction=on_chip)[number]
        )
        nest, schedule, machine = core.part.nest, core.part.schedule, core.machine
    else:
        sequence = tile_sequence(nest, schedule, array, widths, tile_loaded=tile_loaded)
        streamed = sequence if array.grouped else tile_sequence(nest, schedule, streaming, widths)
    run = run_of(machine)
    p, first = run.per_cycle, sequence.head * machine.channel_bits.denominator
    whole = (cycles + extra) * p
    alike = len(nest.statements) == 1 and not array.reload and array.stages is None and array.row_stationary is None
    walk = _Walk(run, machine, whole // RESOLUTION, alike)
    stretches = list(walk.part(sequence.root, streamed.root, sequence.head, 1))
    overhead = compute(nest, schedule, array).overhead
    filling = overhead and (array.filling if array.stages is None else 0)
    last = whole - run.comp - p * overhead
    opening = stretches[0]
    stretches[:1] = [
        Stretch(stall=first),
        Stretch(fill=p * filling),
        replace(opening, stall=opening.stall - first),
    ]
    stretches += [Stretch(drain=p * (overhead - filling)), Stretch(stall=last)]
    pieces = tuple(_pieces(nest, schedule, machine, sequence.root, sequence.head))
    return Timeline(p, tuple(s for s in stretches if s.ticks), pieces, first, last, nest.macs)


def _pieces(nest: Nest, schedule: Schedule, machine: Machine, root: SequenceNode, head: int) -> Iterator[Piece]:
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
