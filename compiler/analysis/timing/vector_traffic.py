"""
The DRAM traffic of vector work and moves that are not fused.

Each operand is read once and each result is written once; a value that is an operand twice is read once. Tensors that
are resident before or after the operation are read at most once.

Normalisations and the like need the statistics of a group before its first result: they read some operands in two
passes (`npuc.dialects.npu.reread`). A group is kept in SPM between its passes if it fits there, in what a schedule may
use of the SPMs of all cores, together with the operands that every group uses. If only some operands fit, those that
save most are kept. If none fits, the first pass of all groups precedes the second pass of all, in blocks across the
groups, so that the operands that all groups use are read once even then.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.compiler.core.frozen import frozen
from npuc.dialects.npu import TensorWorkOp, VectorOp
from npuc.dialects.npu.reread import Reread

Sizes = Mapping[str, int]


@frozen
class Streamed:
    """
    Bytes by operand (`in0`, …) and result (`out0`, …), as if nothing were resident.

    `reread` are those of `reads` that the second pass reads; with `group` bytes of SPM there would be none.
    """

    reads: Sizes
    writes: Sizes
    reread: Sizes = field(default_factory=dict[str, int])
    group: int = 0

    def moved(self, unmoved: Collection[str] = ()) -> int:
        """The bytes moved of all operands and results but `unmoved`."""
        return sum(size for side in (self.reads, self.writes) for name, size in side.items() if name not in unmoved)


def streamed(op: Operation, machine: Machine, resident: Collection[str] = (), reserved: int = 0) -> Streamed:
    """
    The traffic of an operation whose tensors `resident` are resident before or after it.

    `reserved` are the bytes of SPM that these and other resident values occupy.
    """
    room = machine.spm_bytes * machine.cores - reserved
    return streamed_through(op, machine.element_bytes, room, resident)


def streamed_through(op: Operation, element_bytes: int | None, room: int, resident: Collection[str] = ()) -> Streamed:
    """The traffic of an operation whose groups may stay in so many bytes between two passes."""
    reads, writes = (op.reads, op.writes) if isinstance(op, TensorWorkOp) else (None, None)
    first = dict(_sized("in", op.operands, reads, element_bytes))
    written = dict(_sized("out", op.results, writes, element_bytes))
    if not isinstance(op, VectorOp) or op.reread is None:
        return Streamed(first, written)
    reread, group = _reread(op, op.reread, first, room, resident)
    return Streamed({name: size + reread.get(name, 0) for name, size in first.items()}, written, reread, group)


def _reread(op: VectorOp, reread: Reread, sizes: Sizes, room: int, resident: Collection[str]) -> tuple[Sizes, int]:
    """The bytes that are reread, by operand, and the bytes of SPM with which none would be."""
    names = {value: f"in{number}" for number, value in reversed(list(enumerate(op.operands)))}
    twice, beside = (
        [name for name in dict.fromkeys(names[op.operands[number]] for number in numbers) if name not in resident]
        for numbers in (reread.operands, reread.beside)
    )
    shared = sum(sizes[name] for name in beside if name not in twice)
    group = {name: -(-sizes[name] // reread.groups) for name in twice}
    kept = max(
        (some for some in _subsets(twice) if not some or shared + sum(group[name] for name in some) <= room),
        key=lambda some: sum(group[name] for name in some),
    )
    return {name: sizes[name] for name in twice if name not in kept}, shared + sum(group.values())


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for count in range(len(names) + 1):
        yield from combinations(names, count)


def _sized(
    side: str, values: Sequence[SSAValue], counts: Sequence[int] | None, element_bytes: int | None
) -> Iterator[tuple[str, int]]:
    """The bytes of each operand or result: of all its elements, or of the number that the operation states."""
    seen: set[SSAValue] = set()
    for number, value in enumerate(values):
        if value in seen:
            continue
        seen.add(value)
        shape = cast("TensorType[Attribute]", value.type).get_shape()
        elements = prod(shape) if counts is None else counts[number]
        yield f"{side}{number}", size_bytes(value.type, elements, element_bytes)
