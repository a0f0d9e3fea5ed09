"""
What vector work and moves by themselves move between DRAM and SPM.

Each operand comes from DRAM once and each result goes there once; a value that is an operand twice is read once. What
is in SPM whole, before or after (`resident`), is read at most once, or not at all.

Normalisations and the like need the statistics of a group before its first result: they read some operands twice
(`again`). Of these a group stays in SPM between its two passes where there is room, in what a schedule may use of the
SPMs of all cores, for it and for the operands that every group uses. Of two operands of which only one finds room, that
stays which saves more. Where nothing stays, all groups have their first pass before any has its second, in blocks that
go across the groups, so that what all of them use is read once all the same.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.dialects.npu import TensorWorkOp, VectorOp
from npuc.dialects.npu.again import Again

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Streamed:
    """
    Bytes by operand (`in0`, …) and result (`out0`, …), as if nothing stayed from one operation to the next.

    `again` are those of `reads` that are read a second time; `group` is what one group needs in SPM so that nothing is.
    """

    reads: Sizes
    writes: Sizes
    again: Sizes = field(default_factory=dict[str, int])
    group: int = 0

    def moved(self, unmoved: Collection[str] = ()) -> int:
        """All bytes that move when nothing does of the operands and results `unmoved`."""
        return sum(size for side in (self.reads, self.writes) for name, size in side.items() if name not in unmoved)


def streamed(op: Operation, machine: Machine, whole: Collection[str] = (), taken: int = 0) -> Streamed:
    """
    The bytes of an operation; its operands `whole` are in SPM whole, before or after it.

    `taken` are the bytes of SPM that these and what else stays there meanwhile take.
    """
    reads, writes = (op.reads, op.writes) if isinstance(op, TensorWorkOp) else (None, None)
    first = dict(_sized("in", op.operands, reads, machine))
    written = dict(_sized("out", op.results, writes, machine))
    if not isinstance(op, VectorOp) or op.again is None:
        return Streamed(first, written)
    room = machine.spm_bytes * machine.cores - taken
    again, group = _again(op, op.again, first, room, whole)
    return Streamed({name: size + again.get(name, 0) for name, size in first.items()}, written, again, group)


def _again(op: VectorOp, again: Again, sizes: Sizes, room: int, whole: Collection[str]) -> tuple[Sizes, int]:
    """The bytes that are read a second time, by operand, and the bytes of SPM with which none would be."""
    names = {value: f"in{number}" for number, value in reversed(list(enumerate(op.operands)))}
    twice, beside = (
        [name for name in dict.fromkeys(names[op.operands[number]] for number in numbers) if name not in whole]
        for numbers in (again.operands, again.beside)
    )
    shared = sum(sizes[name] for name in beside if name not in twice)
    own = {name: -(-sizes[name] // again.groups) for name in twice}
    stays = max(
        (kept for kept in _subsets(twice) if not kept or shared + sum(own[name] for name in kept) <= room),
        key=lambda kept: sum(own[name] for name in kept),
    )
    return {name: sizes[name] for name in twice if name not in stays}, shared + sum(own.values())


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for count in range(len(names) + 1):
        yield from combinations(names, count)


def _sized(
    side: str, values: Sequence[SSAValue], counts: Sequence[int] | None, machine: Machine
) -> Iterator[tuple[str, int]]:
    """The bytes of each operand or result: of its elements, or of as many as the operation says."""
    seen: set[SSAValue] = set()
    for number, value in enumerate(values):
        if value in seen:
            continue
        seen.add(value)
        shape = cast("TensorType[Attribute]", value.type).get_shape()
        elements = prod(shape) if counts is None else counts[number]
        yield f"{side}{number}", size_bytes(value.type, elements, machine.element_bytes)
