"""
Time and traffic of nests that run round-robin, one tile operation each, in one SPM: `npu.interleave`.

The traffic is the sum over the nests, with operands that several keep whole read once. The time follows the recurrence
of `double_buffer.py` over the tile operations A1 B1 A2 B2 …; the final writes of all nests follow the last operation.
Fill and drain that overlap with neighbouring folds are paid once, also between folds of different nests, which may wait
for each other's traffic across the array's edge. No operation finds its stationary tile in the array, because
operations of another nest ran in between (conservatively also after the other nests have ended).
"""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import lcm

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.compute import Compute, compute
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.blocks import touched
from npuc.compiler.analysis.nest.elements import Bits, Width, in_bits
from npuc.compiler.analysis.nest.traffic import TensorTraffic, traffic
from npuc.compiler.analysis.timing.double_buffer import Timing
from npuc.compiler.analysis.timing.recurrence import Run
from npuc.compiler.analysis.timing.round_robin import round_robin_sequence, with_waits
from npuc.compiler.analysis.timing.sequence import TileSequence
from npuc.compiler.analysis.timing.tiles import tile_sequence
from npuc.dialects.npu.shared import RoundRobin, shared_blocks

Widths = tuple[Bits, ...]
"""The bits per element of each tensor, by nest."""


def interleaved_traffic(together: RoundRobin) -> tuple[dict[str, TensorTraffic], ...]:
    """The elements that each nest moves, by tensor; the first nest reads the shared blocks."""
    pairs = zip(together.nests, together.schedules, strict=True)
    moved = tuple(traffic(nest, schedule) for nest, schedule in pairs)
    for blocks in shared_blocks(together):
        for number, name in blocks[1:]:
            moved[number][name] = TensorTraffic(0, 0)
    return moved


def interleaved_sequence(together: RoundRobin, array: Array, widths: Widths) -> TileSequence:
    """The tile operations of all round-robin nests."""
    own = [
        tile_sequence(nest, schedule, array, width, isolated=True)
        for nest, schedule, width in zip(together.nests, together.schedules, widths, strict=True)
    ]
    heads: list[Width] = [sequence.head for sequence in own]
    for blocks in shared_blocks(together):
        for number, name in blocks[1:]:
            nest = together.nests[number]
            heads[number] -= widths[number].by_name(nest)[name] * touched(nest.tensors[name], nest.sizes)
    root, head = round_robin_sequence([(sequence.root, moved) for sequence, moved in zip(own, heads, strict=True)])
    root = with_waits(root, array)
    return TileSequence(root, head, sum(sequence.tail for sequence in own), sum(sequence.spare for sequence in own))


def interleaved_compute(together: RoundRobin, array: Array) -> tuple[Compute, ...]:
    """
    The work of the array for each nest, without waits between two tile operations for the array's edge; what an
    operation pays once is the first nest's.
    """
    found: list[Compute] = []
    for number, (nest, schedule) in enumerate(zip(together.nests, together.schedules, strict=True)):
        found.append(compute(nest, schedule, array, isolated=True))
        if number:
            found[-1] = replace(found[-1], cycles=found[-1].cycles - found[-1].overhead, overhead=0)
    return tuple(found)


@lru_cache(maxsize=4096)
def interleaved_pipeline(together: RoundRobin, machine: Machine, widths: Widths) -> Timing:
    """The time of nests that run round-robin on one core."""
    parts = lcm(*(width.parts for width in widths))
    sequence = interleaved_sequence(together, machine.array, tuple(width.times(parts) for width in widths))
    work = interleaved_compute(together, machine.array)
    overhead = sum(one.overhead for one in work)
    cycles = sequence.root.cycles + overhead
    rate = machine.channel_bits * parts
    if machine.double_buffer:
        run = Run(rate.numerator, rate.denominator, machine.spm_bits * parts)
        ticks = run.end(sequence.root, sequence.head) + sequence.tail * rate.denominator
        time = max(Fraction(ticks, rate.numerator) + overhead, sequence.moved / rate)
    else:
        time = cycles + sequence.moved / rate
    moved, head, tail = (in_bits(count, parts) for count in (sequence.moved, sequence.head, sequence.tail))
    return Timing(time, cycles, moved, head, tail)


def tensor_names(together: RoundRobin) -> tuple[dict[str, str], ...]:
    """Of each nest, what its tensors are called together: one name for one value, different ones for different ones."""
    known: dict[object, str] = {}
    found: list[dict[str, str]] = []
    for number, nest in enumerate(together.nests):
        values = dict(zip((t.name for t in nest.ins), together.values[number], strict=True))
        names: dict[str, str] = {}
        for name in nest.tensors:
            key = values.get(name, (number, name))
            if key not in known:
                taken, count = set(known.values()), 0
                while (called := f"{name}{count or ''}") in taken:
                    count += 1
                known[key] = called
            names[name] = known[key]
        found.append(names)
    return tuple(found)
