"""
The rows of operations in groups: what all micro-batches cost together.

An operation of a group is costed once for a micro-batch, with what is resident beside it, and once for the last one
where that has fewer samples. Its row has the sums over all micro-batches: cycles, time, bytes, energy, bounds. Sizes,
the schedule and `spm_bytes` are those of a micro-batch. A held operand is loaded before the first micro-batch, a sum is
stored after the last, both while nothing else happens: the first operation that reads the one, and the one that
computes the other, have that in their rows. Vector work adds its result to the partial sums, but for the first time.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, Region

from npuc.backends.cycle.groups.bands import walked_rows
from npuc.backends.cycle.groups.sums import Extra, plus, times, with_extra
from npuc.compiler.analysis.fusion.slices import body_axes, body_of
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import size_bytes, widths_on
from npuc.compiler.report import OpRow
from npuc.compiler.report.sparse import GroupFacts
from npuc.dialects.npu import ContractOp, GroupOp, MoveOp, VectorOp
from npuc.dialects.npu.widths import elements_of, sum_bytes_of

Rows = Callable[[Sequence[Operation]], list[OpRow]]
"""The rows of operations, in their order."""
SAVED = ("saved_cycles", "saved_bytes")
"""The attributes of a group that say what the pass has saved against its operations by themselves."""


def groups_of(ops: Sequence[Operation]) -> dict[GroupOp, list[int]]:
    """The groups of a program, with the numbers of their operations among all that have a row."""
    found: dict[GroupOp, list[int]] = {}
    for number, op in enumerate(ops):
        around = op.parent_op()
        if isinstance(around, GroupOp):
            found.setdefault(around, []).append(number)
    return found


def with_groups(ops: Sequence[Operation], machine: Machine, plain: Rows, cost: Rows) -> list[OpRow]:
    """
    The rows of a program. `plain` costs its operations, with one micro-batch of each group, `cost` those of a part.

    Raises `SourceError` for a group whose operations are not sample-wise, or not row-wise where it walks rows.
    """
    groups = groups_of(ops)
    walked = {ops[number] for group, numbers in groups.items() if group.row_walk for number in numbers}
    costed = [op for op in ops if op not in walked]
    found = dict(zip(costed, plain(costed), strict=True))
    for index, (group, numbers) in enumerate(groups.items(), 1):
        inside = [ops[number] for number in numbers]
        extras = _extras(group, machine)
        if group.row_walk is not None:
            own = walked_rows(group, inside, machine, cost)
        else:
            own = _batch_rows(group, [found[op] for op in inside], cost)
        for place, (op, row) in enumerate(zip(inside, own, strict=True)):
            row = with_extra(row, extras.get(op), machine)
            facts = _facts(group, index, own if place == 0 else [])
            found[op] = replace(row, native=row.native | facts.columns())
    return [replace(found[op], index=number) for number, op in enumerate(ops)]


def _batch_rows(group: GroupOp, rows: Sequence[OpRow], cost: Rows) -> list[OpRow]:
    """The rows of all micro-batches, given those of one of full size."""
    batches, axes = group.batches, body_axes(group)
    assert axes
    last: list[OpRow | None] = [None] * len(rows)
    if batches.ragged:
        last = [*cost(_ragged(group))]
    return [plus(times(row, batches.full), end) for row, end in zip(rows, last, strict=True)]


def _facts(group: GroupOp, index: int, rows: Sequence[OpRow]) -> GroupFacts:
    """The columns about a group; the first of its rows says which layers it has and what it saved."""
    batches, walk = group.batches, group.row_walk
    facts = GroupFacts(group=index, micro_batch=batches.micro, micro_batches=batches.count)
    if walk is not None:
        facts = replace(facts, band_rows=walk.rows, bands=walk.count, halo=walk.halo)
    if not rows:
        return facts
    layers = list(dict.fromkeys(row.name for row in rows))
    saved = [group.attributes.get(name) for name in SAVED]
    cycles, moved = (one.value.data if isinstance(one, IntegerAttr) else None for one in saved)
    return replace(
        facts,
        group_layers=layers,
        group_operations=len(rows),
        saved_cycles=cycles,
        saved_bytes=moved,
    )


def _ragged(group: GroupOp) -> list[Operation]:
    """The operations of the last, smaller micro-batch that have rows, compiled for the same machine."""
    around: Operation = group
    while (parent := around.parent_op()) is not None:
        around = parent
    batches = group.batches
    last = GroupOp.create(
        operands=group.operands,
        result_types=group.result_types,
        properties=dict(group.properties),
        regions=[body_of(group, batches.ragged)],
    )
    ModuleOp(Region(Block([last])), dict(around.attributes))  # whose target says the widths of elements
    return [op for op in last.body.block.ops if isinstance(op, ContractOp | VectorOp | MoveOp)]


def _extras(group: GroupOp, machine: Machine) -> dict[Operation, Extra]:
    """What moves once, by the operation whose row has it."""
    block, widths = group.body.block, widths_on(machine)
    loaded: dict[Operation, dict[str, int]] = {}
    for number in group.held:
        arg = block.args[number]
        reader = next(((op, name) for op, name in _readers(block) if op.named_operands()[name] is arg), None)
        if reader is not None:
            size = size_bytes(arg.type, elements_of(arg), machine.element_bytes)
            loaded.setdefault(reader[0], {})[reader[1]] = size
    found = {op: Extra(sizes, {}) for op, sizes in loaded.items()}
    for value in group.held_sums():
        op = value.owner
        assert isinstance(op, ContractOp | VectorOp)
        name = next(name for name, result in op.named_results().items() if result is value)
        now = found.get(op, Extra({}, {}))
        size = size_bytes(value.type, elements_of(value), machine.element_bytes)
        again = 0 if isinstance(op, ContractOp) else group.batches.count - 1
        added = now.added + again * elements_of(value)
        through = now.added_bytes + again * (2 * sum_bytes_of(value, widths) + size)
        found[op] = Extra(now.loaded, {**now.stored, name: size}, added, through)
    return found


def moved_once(group: GroupOp, machine: Machine) -> dict[Operation, Extra]:
    """What of a group moves once for all micro-batches, by the operation whose row has it."""
    return _extras(group, machine)


def _readers(block: Block) -> Iterator[tuple[ContractOp | VectorOp, str]]:
    for op in block.ops:
        if isinstance(op, ContractOp | VectorOp):
            yield from ((op, name) for name in op.named_operands())
