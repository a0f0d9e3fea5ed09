"""
The time of a scheduled nest on cores whose SPMs are double buffered: an exact recurrence over their tile operations.

Operation t waits for `bits(t)`: its reads, and before them the write-backs of the blocks that they displace. There is
one DRAM channel, and data in flight may occupy half of the SPM:

    load_start(t) = max(load_end(t-1), comp_end(s-1))     s = least index with bits(s..t) <= SPM / 2, at most t
    load_end(t)   = load_start(t) + bits(t) / bits_per_cycle
    comp_end(t)   = max(comp_end(t-1), load_end(t)) + cycles(t)

Final writes follow the last operation, and so do the fill and drain that `fill = "overlap"` pays once. The model
charges write-backs to the load that displaces the block; it does not order a write-back after the operation that
completed the block. Without double buffering nothing overlaps. The unit of time is 1/p cycle, with p the numerator of
the channel's bits per cycle, so that all times are integers; where widths are no whole bits, parts of a bit are counted
in place of bits (`Bits.parts`). `recurrence.py` evaluates the recurrence without a walk.

Cores run in parallel and share the DRAM channel equally; the nest takes as long as its slowest core. Multicast data
occupies the channel once for all cores that read it: each is charged its share, spread evenly over its transfers.
Partial sums that pass from core to core on chip take no time.

With several levels of memory on the chip each of them has such a pipeline, as if it alone had blocks and what is
outside of it were DRAM, with the operations that wait for its blocks. The first blocks come through all levels one
after another before the first operation, and the last ones leave through all of them, but only the slowest pipeline
sets the time between:

    time = max over levels l of (pipeline of l + sum over other levels j of (head of j + tail of j) / rate of j)

Without double buffering the transfers of all levels add up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import Compute, compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import views_of
from npuc.compiler.analysis.machine.row_choice import configured
from npuc.compiler.analysis.nest.cores import CorePart, core_count, core_parts, core_traffic
from npuc.compiler.analysis.nest.elements import Bits, Width, in_bits
from npuc.compiler.analysis.nest.traffic import moved_bits
from npuc.compiler.analysis.timing.epilogue_tiles import EpilogueWork, epilogue_parts, epilogue_sequence
from npuc.compiler.analysis.timing.recurrence import Run
from npuc.compiler.analysis.timing.sequence import TileSequence
from npuc.compiler.analysis.timing.tiles import part_sequences, tile_sequence
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu.nest import Nest, Schedule


@frozen
class Timing:
    """
    `time` in cycles, exact; `compute` cycles of the array; bits `moved`, `head` and `tail` of them unhidden, which take
    `ends` cycles.
    """

    time: Fraction
    compute: int
    moved: Width
    head: Width
    tail: Width
    ends: Fraction = Fraction(0)

    @property
    def cycles(self) -> int:
        """The time, rounded up to whole cycles."""
        return -(-self.time.numerator // self.time.denominator)


@lru_cache(maxsize=8192)
def pipeline(
    nest: Nest,
    schedule: Schedule,
    machine: Machine,
    widths: Bits,
    *,
    tile_loaded: bool = False,
    epilogue: EpilogueWork = (),
) -> Timing:
    """
    The time of a scheduled nest.

    Over several cores it is the time of the slowest, and `moved` the traffic of the DRAM channel. With `tile_loaded`
    the operation before left the stationary tile in the array. `epilogue` is vector work on completed blocks, by the
    vector unit of the core that completes them; its array then keeps no stationary tile.
    """
    if machine.levels:
        return _over_levels(nest, schedule, machine, widths, tile_loaded, epilogue)
    if schedule.core_depth:
        timings = core_timings(nest, schedule, machine, widths, epilogue)
        slowest = timings[_slowest(timings)]
        traffic = core_traffic(nest, schedule, machine.multicast, machine.reduction).channel
        moved = moved_bits(nest, traffic, widths)
        time = max(slowest.time, moved / machine.channel_bits)
        most = max(timing.compute for timing in timings)
        return Timing(time, most, moved, slowest.head, slowest.tail, slowest.ends)
    parts = widths.parts
    sequence, work = _on_one_core(
        nest, replace(schedule, spm=None), machine.array, widths.times(parts), tile_loaded, epilogue
    )
    return _timing(sequence, work, machine, sequence.moved, parts)


@lru_cache(maxsize=1024)
def _on_one_core(
    nest: Nest, schedule: Schedule, array: Array, widths: Bits, tile_loaded: bool, epilogue: EpilogueWork
) -> tuple[TileSequence, Compute]:
    """What a core runs, whatever its SPM and channel."""
    work = compute(nest, schedule, array, tile_loaded=tile_loaded)
    if epilogue:
        return epilogue_sequence(nest, schedule, array, widths, epilogue), work
    return tile_sequence(nest, schedule, array, widths, tile_loaded=tile_loaded), work


def _timing(sequence: TileSequence, work: Compute, machine: Machine, moved: Width, parts: int = 1) -> Timing:
    """
    The time of one core that has the channel for itself and moves `moved` in all.

    The sequence and `moved` count `parts` of a bit, so that the recurrence runs in integers; what is found is in bits.
    """
    rate = machine.channel_bits * parts
    if machine.double_buffer:
        run = Run(rate.numerator, rate.denominator, machine.spm_bits * parts)
        end = run.end(sequence.root, sequence.head)
        ticks = end + max(sequence.tail * rate.denominator, sequence.beside * rate.numerator)
        time = max(Fraction(ticks, rate.numerator) + work.overhead, moved / rate)
    else:
        time = work.cycles + sequence.vector + moved / rate
    head, tail = sequence.head, sequence.tail
    ends = Fraction(head + tail) / rate
    return Timing(time, work.cycles, in_bits(moved, parts), in_bits(head, parts), in_bits(tail, parts), ends)


def _over_levels(
    nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, tile_loaded: bool, epilogue: EpilogueWork
) -> Timing:
    """The time of a scheduled nest on a machine of several levels; `moved` is what the DRAM channel moves."""
    each = [
        pipeline(nest, view.schedule, view.machine, widths, tile_loaded=tile_loaded, epilogue=epilogue)
        for view in views_of(schedule, machine)
    ]
    if not schedule.core_depth:
        return _through(each, machine)
    slowest = max(timing.time for timing in core_timings(nest, schedule, machine, widths, epilogue))
    return replace(each[-1], time=max(slowest, *(timing.time for timing in each)))


def _through(each: Sequence[Timing], machine: Machine) -> Timing:
    """The time of one core through all levels, of the pipelines of each from SPM outwards."""
    last = each[-1]
    if not machine.double_buffer:
        beside = last.compute * (len(each) - 1)
        return replace(last, time=sum((one.time for one in each), Fraction(0)) - beside)
    ends = sum((one.ends for one in each), Fraction(0))
    return replace(last, time=max(one.time + ends - one.ends for one in each), ends=ends)


@frozen
class CoreRun:
    """
    The part of a class of like cores, its tile operations, and the machine of one, whose channel is the core's share.
    """

    part: CorePart
    sequence: TileSequence
    machine: Machine
    moved: Width

    def timing(self) -> Timing:
        """The core's time and traffic."""
        work = compute(self.part.nest, self.part.schedule, self.machine.array)
        return _timing(self.sequence, work, self.machine, self.moved)


@lru_cache(maxsize=2048)
def core_runs(
    nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, epilogue: EpilogueWork = ()
) -> tuple[CoreRun, ...]:
    """What a core of each class of a schedule over cores runs (`core_parts`)."""
    return tuple(_core_runs(nest, schedule, machine, widths, epilogue))


def _core_runs(
    nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, epilogue: EpilogueWork = ()
) -> Iterator[CoreRun]:
    """The result of `core_runs`, one after another."""
    cores = core_parts(nest, schedule)
    traffic = core_traffic(nest, schedule, machine.multicast, machine.reduction)
    on_chip = machine.reduction == "on-chip"
    if epilogue:
        sequences = epilogue_parts(nest, schedule, machine.array, widths, epilogue, on_chip_reduction=on_chip)
    else:
        sequences = part_sequences(nest, schedule, machine.array, widths, on_chip_reduction=on_chip)
    stored, outs = widths.by_name(nest), {out.name for out in nest.outs}
    readers: dict[tuple[str, object], int] = {}
    for part, rows in zip(cores, traffic.moved, strict=True):
        for name, row in rows.items():
            key = name, part.key(nest.tensors[name].dims)
            readers[key] = readers.get(key, 0) + (part.sharing(nest.tensors[name].dims) if row.read else 0)

    def spared(part: CorePart, name: str, read: int) -> Fraction:
        """The bits of a read that a core is not billed for, as others read the same."""
        shared = readers[name, part.key(nest.tensors[name].dims)] if machine.multicast and name not in outs else 1
        return stored[name] * (read - Fraction(read, max(1, shared)))

    array, count = configured(nest, schedule, machine.array), core_count(nest, schedule)
    for part, rows, sequence in zip(cores, traffic.moved, sequences, strict=True):
        moved = moved_bits(nest, rows, widths)
        paid = moved - sum(spared(part, name, row.read) for name, row in rows.items())
        # Partial sums that pass on chip are not stored at the end.
        tail = max(0, sequence.tail - (sequence.moved - moved))
        rate = machine.channel / count * (moved / paid if paid else 1)
        own = replace(machine.core(1), array=array, bytes_per_cycle=rate)
        yield CoreRun(part, replace(sequence, tail=tail, spare=0), own, moved)


@lru_cache(maxsize=2048)
def core_timings(
    nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, epilogue: EpilogueWork = ()
) -> tuple[Timing, ...]:
    """The time and traffic of a core of each class of a schedule over cores (`core_parts`)."""
    if machine.levels:
        views = views_of(schedule, machine)
        each = [core_timings(nest, view.schedule, view.machine, widths, epilogue) for view in views]
        return tuple(_through(levels, machine) for levels in zip(*each, strict=True))
    known: dict[object, Timing] = {}
    timings: list[Timing] = []
    for run in core_runs(nest, schedule, machine, widths, epilogue):
        key = run.sequence, run.machine, run.moved
        if key not in known:
            known[key] = run.timing()
        timings.append(known[key])
    return tuple(timings)


def time_up_to(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits, limit: float) -> tuple[Fraction, int]:
    """
    The time over cores and the bits on the channel, as `pipeline` has them; a lower bound of the time where that is
    above `limit`, mostly at less effort.
    """
    moved = moved_bits(nest, core_traffic(nest, schedule, machine.multicast, machine.reduction).channel, widths)
    time = moved / machine.channel_bits
    for run in _core_runs(nest, schedule, machine, widths):
        if float(time) > limit:
            break
        time = max(time, run.timing().time)
    return time, moved


def slowest_core(nest: Nest, schedule: Schedule, machine: Machine, widths: Bits) -> int:
    """The index among `core_parts` of the slowest core's class, the first of several."""
    return _slowest(core_timings(nest, schedule, machine, widths))


def _slowest(timings: Sequence[Timing]) -> int:
    return max(range(len(timings)), key=lambda core: (timings[core].time, -core))
