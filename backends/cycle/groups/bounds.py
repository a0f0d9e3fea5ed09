"""
What the rows of groups say beside their costs: what a group moves at least, and what of it moves once.

The bound of a group is what enters, what leaves and weights once. Of an operand from outside, that is what its reader
that uses most of it uses: convolutions with strides, or embeddings, do not use all. Of a sliced operand each
micro-batch uses as much; what of a whole one is used is counted once. A group that walks rows may leave out those that
its results do not need.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec.structs import replace
from xdsl.ir import BlockArgument, Operation, SSAValue

from npuc.backends.cycle.groups.rows import groups_of, moved_once
from npuc.compiler.analysis.fusion.rows.least import needed_rows
from npuc.compiler.analysis.fusion.rows.program import row_program
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.bounds import compulsory
from npuc.compiler.analysis.nest.elements import contract_widths, size_bytes, whole_bytes
from npuc.compiler.analysis.timing.vector_traffic import streamed
from npuc.compiler.report import OpRow
from npuc.compiler.report.groups import GroupBound, OnceFacts
from npuc.dialects.npu import ContractOp, GroupOp, MoveOp, VectorOp
from npuc.dialects.npu.groups.batches import WHOLE
from npuc.dialects.npu.resident import memory_of
from npuc.dialects.npu.widths import elements_of

_Operand: TypeAlias = tuple[Operation, int]


def with_bounds(ops: Sequence[Operation], rows: Sequence[OpRow], machine: Machine) -> list[OpRow]:
    """The rows of a program; those of groups say what moves once, the first what its group moves at least."""
    found = list(rows)
    for group, numbers in groups_of(ops).items():
        once = moved_once(group, machine)
        for number in numbers:
            extra = once.get(ops[number])
            if extra is None:
                continue
            loaded, stored = sum(extra.loaded.values()), sum(extra.stored.values())
            if loaded + stored:
                sizes = (*extra.loaded.values(), *extra.stored.values())
                cycles = sum(map(machine.transfer_cycles, sizes))
                facts = OnceFacts(loaded_once_bytes=loaded, stored_once_bytes=stored, once_cycles=cycles)
                found[number] = replace(found[number], native=found[number].native | facts.columns())
        bound = GroupBound(group_bound_bytes=least_bytes(group, machine))
        found[numbers[0]] = replace(found[numbers[0]], native=found[numbers[0]].native | bound.columns())
    return found


def least_bytes(group: GroupOp, machine: Machine) -> int:
    """The bytes that a group moves at least, whatever its micro-batches and schedules are."""
    block, runs = group.body.block, group.batches.full
    needed = dict(needed_rows(row_program(group))) if group.row_walk is not None else dict[_Operand, tuple[int, int]]()
    read: dict[SSAValue, int] = {}
    for op in block.ops:
        for number, used in _used(op, machine):
            arg = memory_of(op.operands[number])
            if isinstance(arg, BlockArgument) and arg.block is block:
                rows, of = needed.get((op, number), (1, 1))
                size = used * rows // of
                all_runs = size if group.slices[arg.index] == WHOLE else runs * size
                whole = memory_of(group.operands[arg.index])
                read[whole] = max(read.get(whole, 0), all_runs)
    written = {
        memory_of(inner): size_bytes(outer.type, elements_of(outer), machine.element_bytes)
        for outer, inner in zip(group.results, group.ending.operands, strict=True)
    }
    return sum(read.values()) + sum(written.values())


def _used(op: Operation, machine: Machine) -> Iterator[tuple[int, int]]:
    """The numbers of an operation's operands, with the bytes of each that it uses."""
    if isinstance(op, ContractOp):
        widths, elements = contract_widths(op, machine).by_name(op.nest), compulsory(op.nest)
        starts = [start for start in op.nest.starts if start is not None]
        for number, tensor in enumerate((*op.nest.ins, *starts)):
            yield number, whole_bytes(widths[tensor.name] * elements[tensor.name])
    elif isinstance(op, VectorOp | MoveOp):
        moving = streamed(op, machine)
        for number in range(len(op.operands)):
            name = f"in{number}"
            if name in moving.reads:
                yield number, moving.reads[name] - moving.reread.get(name, 0)
