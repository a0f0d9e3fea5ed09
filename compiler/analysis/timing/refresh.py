"""
What of a scratchpad of dynamic cells has to be refreshed: values that are held for longer than a cell keeps them.

    refreshes(5.1e-6, 2e-6)           # 2: at 2 and 4 microseconds, each before the value is read for the last time

A value is held from when it is written to when it is read for the last time. Embedded DRAM needs no refresh for a
value that is held no longer than its retention time, on which CAMEL rests (Zhang et al., HPCA 2024).

Held are the blocks of a product, one after another, and values that stay resident between operations. In a nest whose
tiles take the same time each of n blocks of a tensor is held for 1/n of the nest's time, with double buffering for
twice that, as it is loaded while the one before is used, but never for longer than the nest. A resident value is held
from the start of the operation that leaves it to the end of the last one that finds it. Work that streams through the
scratchpad holds nothing.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import ceil

from xdsl.ir import Operation, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import contract_widths, size_bytes
from npuc.compiler.analysis.nest.traffic import traffic
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Nest, Schedule
from npuc.dialects.npu.resident import HasResidency, memory_of
from npuc.dialects.npu.widths import Width, elements_of, whole_bytes


@frozen
class Held:
    """Of a tensor by its name, how many blocks are held one after another, the bytes of one, and for how long each."""

    name: str
    blocks: int
    bytes: int
    seconds: float

    def refreshed(self, retention: float) -> int:
        """The bytes that are refreshed, each as often as it is."""
        return self.blocks * self.bytes * refreshes(self.seconds, retention)


def refreshes(held: float, retention: float) -> int:
    """How often a value that is held for so long is refreshed, by cells that keep one for `retention`; in seconds."""
    return max(0, ceil(held / retention) - 1)


def blocks_held(
    nest: Nest, schedule: Schedule, bits: Mapping[str, Width], seconds: float, *, double: bool, cores: int = 1
) -> list[Held]:
    """
    The blocks of a scheduled nest that takes so many seconds; `bits` are those of an element of each tensor in SPM.

    A tensor has as many blocks, one after another in each core, as its traffic fills.
    """
    found: list[Held] = []
    moved = traffic(nest, schedule)
    for name, elements in footprint(nest, schedule).items():
        if name not in moved or not elements:
            continue
        blocks = max(1, ceil(max(moved[name].read, moved[name].write) / elements))
        turns = ceil(blocks / cores)
        held = min(seconds, seconds / turns * (2 if double else 1))
        found.append(Held(name, blocks, whole_bytes(elements * bits[name]), held))
    return found


def held_by(
    ops: Sequence[Operation], seconds: Sequence[float], repeats: Sequence[int], machine: Machine
) -> list[list[Held]]:
    """
    What each operation of a program holds in its scratchpad, with the time that one run of each takes, and its runs.

    A value that stays resident is of the operation that leaves it first.
    """
    found = [_of_operation(op, time, machine) for op, time in zip(ops, seconds, strict=True)]
    spent = [count * own for count, own in zip(repeats, seconds, strict=True)]
    ends = [*accumulate(spent)]
    starts = [end - own for end, own in zip(ends, spent, strict=True)]
    begun: dict[SSAValue, tuple[int, str]] = {}
    for number, op in enumerate(ops):
        if not isinstance(op, HasResidency):
            continue
        operands, own = op.named_operands(), op.resident
        values = {name: memory_of(value) for name, value in {**operands, **op.named_results()}.items()}
        ended = dict.fromkeys(values[name] for name in own.ins if name in operands and name not in own.outs)
        for value in ended:
            if value not in begun:
                continue
            first, name = begun.pop(value)
            size = size_bytes(value.type, elements_of(value), machine.element_bytes)
            found[first].append(Held(name, 1, size, ends[number] - starts[first]))
        for name in own.outs:
            if name in values:
                begun.setdefault(values[name], (number, name))
    return found


def _of_operation(op: Operation, seconds: float, machine: Machine) -> list[Held]:
    if isinstance(op, InterleaveOp):
        return [held for one in op.contracts for held in _of_operation(one, seconds, machine)]
    if not isinstance(op, ContractOp):
        return []
    nest, schedule = op.nest, op.schedule
    bits = contract_widths(op, machine).with_sums(nest)
    cores = machine.cores if schedule.core_depth else 1
    held = blocks_held(nest, schedule, bits, seconds, double=machine.double_buffer, cores=cores)
    return [one for one in held if one.name not in op.resident.names]
