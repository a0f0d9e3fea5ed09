"""
The rows of operations in groups: what all micro-batches cost together.

An operation of a group is costed once for a micro-batch, with what is resident beside it, and once for the last one
where that has fewer samples. Its row has the sums over all micro-batches: cycles, time, bytes, energy, bounds. Sizes,
the schedule and `spm_bytes` are those of a micro-batch. A held operand is loaded before the first micro-batch, a sum is
stored after the last, both while nothing else happens: the first operation that reads the one, and the one that
computes the other, have that in their rows. Vector work adds its result to the partial sums, but for the first time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, Region

from npuc.compiler.analysis.fusion.slices import body_axes, body_of
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import size_bytes, widths_on
from npuc.compiler.analysis.timing.epilogue import vector_cycles
from npuc.compiler.report import OpRow, Scalar, TensorBytes
from npuc.compiler.report.sparse import GroupFacts
from npuc.dialects.npu import ContractOp, GroupOp, MoveOp, VectorOp
from npuc.dialects.npu.groups.batches import Batches
from npuc.dialects.npu.widths import elements_of, sum_bytes_of

Rows = Callable[[Sequence[Operation]], list[OpRow]]
"""The rows of operations, in their order."""
SAVED = ("saved_cycles", "saved_bytes")
"""The attributes of a group that say what the pass has saved against its operations by themselves."""
ADDED = (
    *("tiles", "folds", "fill_drain_cycles", "edge_cycles", "transfer_cycles", "not_moved_bytes", "read_twice_bytes"),
    *("spm_read_bytes", "spm_write_bytes", "spm_bytes_moved"),
)
"""The columns that count what happens, so that those of several micro-batches add up."""


@dataclass(frozen=True)
class Extra:
    """What an operation's row has beside its micro-batches: bytes by tensor that move once, cycles of adding."""

    loaded: Mapping[str, int]
    stored: Mapping[str, int]
    added: int = 0
    added_bytes: int = 0
    """The bytes that adding reads and writes in SPM."""


def groups_of(ops: Sequence[Operation]) -> dict[GroupOp, list[int]]:
    """The groups of a program, with the numbers of their operations among all that have a row."""
    found: dict[GroupOp, list[int]] = {}
    for number, op in enumerate(ops):
        around = op.parent_op()
        if isinstance(around, GroupOp):
            found.setdefault(around, []).append(number)
    return found


def with_groups(ops: Sequence[Operation], rows: Sequence[OpRow], machine: Machine, cost: Rows) -> list[OpRow]:
    """
    The rows of a program, given those of one micro-batch of each group.

    Raises `SourceError` for a group whose operations are not sample-wise.
    """
    found = list(rows)
    for index, (group, numbers) in enumerate(groups_of(ops).items(), 1):
        batches, axes = group.batches, body_axes(group)
        assert axes
        extras = _extras(group, machine)
        last: list[OpRow | None] = [None] * len(numbers)
        if batches.ragged:
            last = [*cost(_ragged(group))]
        for place, number in enumerate(numbers):
            row = _plus(_times(found[number], batches.full), last[place])
            row = _with_extra(row, extras.get(ops[number]), machine)
            facts = _facts(group, index, batches, [found[n] for n in numbers] if place == 0 else [])
            found[number] = replace(row, native=row.native | facts.columns())
    return found


def _facts(group: GroupOp, index: int, batches: Batches, rows: Sequence[OpRow]) -> GroupFacts:
    """The columns about a group; the first of its rows says which layers it has and what it saved."""
    if not rows:
        return GroupFacts(group=index, micro_batch=batches.micro, micro_batches=batches.count)
    layers = list(dict.fromkeys(row.name for row in rows))
    saved = [group.attributes.get(name) for name in SAVED]
    cycles, moved = (one.value.data if isinstance(one, IntegerAttr) else None for one in saved)
    return GroupFacts(
        group=index,
        micro_batch=batches.micro,
        micro_batches=batches.count,
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


def _times(row: OpRow, count: int) -> OpRow:
    """A row of so many micro-batches."""
    tensors = {name: TensorBytes(count * t.read_bytes, count * t.write_bytes) for name, t in row.tensors.items()}
    native = {key: _scaled(value, count) if key in ADDED else value for key, value in row.native.items()}
    sums = {name: _multiplied(getattr(row, name), count) for name in _SUMMED}
    return replace(row, **sums, tensors=tensors, native=native)


_SUMMED = (
    *("macs", "vector_ops", "cycles", "compute_cycles", "stall_cycles", "seconds", "energy_j"),
    *("dram_read_bytes", "dram_write_bytes", "lower_bound_bytes", "lower_bound_seconds"),
)


def _scaled(value: Scalar | list[Scalar], count: int) -> Scalar | list[Scalar]:
    return count * value if isinstance(value, int | float) else value


def _multiplied(value: float | None, count: int) -> float | None:
    return None if value is None else count * value


def _plus(row: OpRow, last: OpRow | None) -> OpRow:
    """A row with the last, smaller micro-batch."""
    if last is None:
        return row
    sums = {name: _added(getattr(row, name), getattr(last, name)) for name in _SUMMED}
    tensors = {name: _both(t, last.tensors.get(name)) for name, t in row.tensors.items()}
    native = dict(row.native)
    for key in ADDED:
        one, other = native.get(key), last.native.get(key)
        if isinstance(one, int | float) and isinstance(other, int | float):
            native[key] = one + other
    cycles = (row.cycles or 0) + (last.cycles or 0)
    busy = (row.utilization or 0) * (row.cycles or 0) + (last.utilization or 0) * (last.cycles or 0)
    utilization = None if row.utilization is None or not cycles else busy / cycles
    return replace(row, **sums, tensors=tensors, native=native, utilization=utilization)


def _added(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _both(one: TensorBytes, other: TensorBytes | None) -> TensorBytes:
    return one if other is None else TensorBytes(one.read_bytes + other.read_bytes, one.write_bytes + other.write_bytes)


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


def _with_extra(row: OpRow, extra: Extra | None, machine: Machine) -> OpRow:
    """A row with what moves once."""
    if extra is None:
        return row
    loaded, stored = sum(extra.loaded.values()), sum(extra.stored.values())
    sizes = (*extra.loaded.values(), *extra.stored.values())
    moving = sum(map(machine.transfer_cycles, sizes))
    cycles = moving + vector_cycles(extra.added, machine)
    tensors = dict(row.tensors)
    for name, size in extra.loaded.items():
        tensors[name] = _both(tensors[name], TensorBytes(size, 0))
    for name, size in extra.stored.items():
        tensors[name] = _both(tensors[name], TensorBytes(0, size))
    energy = row.energy_j
    if energy is not None and machine.energy is not None:
        energy += machine.energy.joules(0, loaded + stored + extra.added_bytes, loaded + stored)
    all_cycles = (row.cycles or 0) + cycles
    utilization = row.utilization and row.utilization * (row.cycles or 0) / all_cycles
    return replace(
        row,
        vector_ops=(row.vector_ops or 0) + extra.added,
        cycles=all_cycles,
        compute_cycles=(row.compute_cycles or 0) + cycles - moving,
        stall_cycles=(row.stall_cycles or 0) + moving,
        seconds=(row.seconds or 0.0) + machine.seconds(cycles),
        utilization=utilization,
        dram_read_bytes=(row.dram_read_bytes or 0) + loaded,
        dram_write_bytes=(row.dram_write_bytes or 0) + stored,
        lower_bound_bytes=None if row.lower_bound_bytes is None else row.lower_bound_bytes + loaded + stored,
        lower_bound_seconds=None
        if row.lower_bound_seconds is None
        else row.lower_bound_seconds + machine.seconds(cycles),
        energy_j=energy,
        tensors=tensors,
    )
