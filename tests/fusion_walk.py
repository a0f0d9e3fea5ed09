"""
A walk of groups, element by element: what is in SPM, what comes from DRAM and what goes there.

Written from what docs/fusion.md, docs/cycle.md and the operations say, and from nothing that prices them. A contraction
goes through its loops; a block comes when its tensor's block changes, a block of sums leaves when another one comes and
is read again when it comes back; the start of a sum comes with blocks that are visited first. What is resident is a set
of elements: they come if they are not there, and stay. All vector work reads each of its operands once and writes each
of its results once, but for what is there or needs to go nowhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from xdsl.ir import Operation, Region, SSAValue

from npuc.compiler.analysis.fusion.slices import body_of
from npuc.dialects.npu import ContractOp, GroupOp, MoveOp, VectorOp, ViewOp
from npuc.dialects.npu.groups.batches import WHOLE
from npuc.dialects.npu.interleave import YieldOp
from npuc.dialects.npu.nest import Axis, Loop, Tensor
from npuc.dialects.tensors import shape_of

Element = tuple[int, ...]
Elements = frozenset[Element]
Intervals = Mapping[str, tuple[int, int]]


@dataclass
class Counts:
    """Elements that one operation reads and writes in all micro-batches, by tensor; of them partial sums."""

    read: dict[str, int] = field(default_factory=dict[str, int])
    write: dict[str, int] = field(default_factory=dict[str, int])
    resumed: dict[str, int] = field(default_factory=dict[str, int])
    spilled: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, where: dict[str, int], name: str, count: int) -> None:
        """Count elements of a tensor."""
        if count:
            where[name] = where.get(name, 0) + count


def all_of(value: SSAValue) -> Elements:
    """All elements of a tensor."""
    return frozenset(product(*map(range, shape_of(value))))


def is_costed(op: Operation) -> bool:
    """Whether an operation has a row."""
    return isinstance(op, ContractOp | VectorOp | MoveOp)


def walk_group(group: GroupOp) -> list[Counts]:
    """What each operation of a group moves, in the order of the body."""
    return GroupWalk(group).counts


class GroupWalk:
    """A walk of a group, with the elements that are in SPM by value; a view is the value that it is a view of."""

    def __init__(self, group: GroupOp):
        self.group = group
        self.counts = [Counts() for op in group.body.block.ops if is_costed(op)]
        self.there: dict[SSAValue | int, set[Element]] = {}
        """What is in SPM: by value, of held operands by their number."""
        samples, micro = group.samples_attr.value.data, group.micro_attr.value.data
        self._load_held(group.body)
        for first in range(0, samples, micro):
            size = min(micro, samples - first)
            self._run(group.body if size == micro else body_of(group, size))
        self._store_sums(group.body)

    def _load_held(self, body: Region) -> None:
        """Load what stays from the first micro-batch to the last: the first that reads it has that in its row."""
        ops = [op for op in body.block.ops if is_costed(op)]
        for number in self.group.held:
            arg = body.block.args[number]
            for op, counts in zip(ops, self.counts, strict=True):
                names = _names(op)
                if arg in op.operands:
                    name = next(name for name, value in names.items() if value is arg)
                    counts.add(counts.read, name, len(all_of(arg)))
                    break
            self.there[number] = set(all_of(arg))

    def _store_sums(self, body: Region) -> None:
        """Store the sums over micro-batches."""
        ops = [op for op in body.block.ops if is_costed(op)]
        ending = body.block.last_op
        assert isinstance(ending, YieldOp)
        for value, axis in zip(ending.operands, self.group.joins, strict=True):
            if axis == WHOLE:
                op = value.owner
                assert isinstance(op, Operation)
                counts = self.counts[ops.index(op)]
                name = next(name for name, result in _names(op).items() if result is value)
                counts.add(counts.write, name, len(all_of(value)))

    def _key(self, value: SSAValue) -> SSAValue | int:
        """What holds a value's elements: for a held argument all micro-batches have the same."""
        while isinstance(value.owner, ViewOp):
            value = value.owner.operands[0]
        block = self.block
        if value in block.args and block.args.index(value) in self.group.held:
            return block.args.index(value)
        return value

    def _run(self, body: Region) -> None:
        """Run one micro-batch."""
        self.block = body.block
        ops = [op for op in body.block.ops if is_costed(op)]
        for op, counts in zip(ops, self.counts, strict=True):
            resident = op.resident if isinstance(op, ContractOp | VectorOp) else None
            ins = set[str]() if resident is None else set(resident.ins)
            outs = set[str]() if resident is None else set(resident.outs)
            names = _names(op)
            for name in ins:
                assert len(self.there[self._key(names[name])]) == len(all_of(names[name])), f"{name} is not there"
            if isinstance(op, ContractOp):
                _ContractWalk(op, ins, outs, {name: self._is_stored(op, names[name]) for name in names}, counts)
            else:
                self._stream(op, ins, outs, counts)
            for name in ins - outs:
                del self.there[self._key(names[name])]
            for name in outs:
                self.there[self._key(names[name])] = set(all_of(names[name]))
        left = {key for key in self.there if not isinstance(key, int)}
        sums = {value for value, axis in zip(self._yielded(), self.group.joins, strict=True) if axis == WHOLE}
        assert left <= {self._key(value) for value in sums}, "something stays for nobody"
        self.there = {key: elements for key, elements in self.there.items() if isinstance(key, int)}

    def _yielded(self) -> tuple[SSAValue, ...]:
        ending = self.block.last_op
        assert isinstance(ending, YieldOp)
        return tuple(ending.operands)

    def _is_stored(self, op: Operation, value: SSAValue) -> bool:
        """Whether something needs a result in DRAM: a use that does not find it, or a result of the group."""
        if value not in op.results:
            return False
        pending, uses = [value], list[tuple[Operation, SSAValue]]()
        while pending:
            one = pending.pop()
            for use in one.uses:
                if isinstance(use.operation, ViewOp):
                    pending.append(use.operation.results[0])
                uses.append((use.operation, one))
        for user, used in uses:
            if isinstance(user, YieldOp):
                if any(v is used and axis != WHOLE for v, axis in zip(user.operands, self.group.joins, strict=True)):
                    return True
            elif isinstance(user, ContractOp | VectorOp):
                found = [name for name, operand in user.named_operands().items() if operand is used]
                if not set(found) & set(user.resident.ins):
                    return True
            elif not isinstance(user, ViewOp):
                return True
        return False

    def _stream(self, op: Operation, ins: set[str], outs: set[str], counts: Counts) -> None:
        """Vector work and moves: each operand once, each result once."""
        for name, value in _names(op).items():
            if value in op.results:
                if name not in outs or self._is_stored(op, value):
                    counts.add(counts.write, name, len(all_of(value)))
            elif name not in ins:
                counts.add(counts.read, name, len(all_of(value)))


class _ContractWalk:
    """The loops of a contraction, with the block of each tensor and what is resident."""

    def __init__(self, op: ContractOp, ins: set[str], outs: set[str], stored: Mapping[str, bool], counts: Counts):
        self.nest, self.schedule, self.counts = op.nest, op.schedule, counts
        self.sums = {tensor.name for tensor in self.nest.outs}
        pairs = zip(self.nest.outs, self.nest.starts, strict=True)
        self.starts = [(out, start) for out, start in pairs if start is not None]
        self.start_read = {start.name: set[Element]() for _, start in self.starts}
        self.ins, self.outs, self.stored = ins, outs, stored
        self.blocks: dict[str, Elements] = {}
        self.loaded: dict[str, set[Element]] = {name: set() for name in outs - ins}
        self.sent: dict[str, dict[Element, int]] = {name: {} for name in self.sums}
        self._loop(self.schedule.loops, {dim: (0, size) for dim, size in self.nest.sizes.items()}, frozenset())
        for _, start in self.starts:
            every = frozenset(product(*map(range, start.shape)))
            counts.add(counts.read, start.name, len(every - self.start_read[start.name]))
        for name in self.sums:
            self._leave(name)
            self._finish(name, op.result_of(name))

    def _loop(self, loops: tuple[Loop, ...], at: Intervals, later: frozenset[str]) -> None:
        """Run loops from the outermost one inwards; `later` are the dimensions that have gone on before."""
        for tensor in (*self.nest.ins, *self.nest.outs):
            if self.schedule.keep_depth(tensor.name) == len(loops):
                self._come(tensor, _block(tensor, at))
        for out, start in self.starts:
            if self.schedule.keep_depth(start.name) == len(loops) and later <= out.dims:
                self._come(start, _block(start, at))
                self.start_read[start.name] |= self.blocks[start.name]
        if loops:
            low, high = at[loops[0].dim]
            for first in range(low, high, loops[0].step):
                inside = {**at, loops[0].dim: (first, min(first + loops[0].step, high))}
                self._loop(loops[1:], inside, later if first == low else later | {loops[0].dim})

    def _come(self, tensor: Tensor, block: Elements) -> None:
        name, counts = tensor.name, self.counts
        if self.blocks.get(name) == block:
            return
        if name in self.sums:
            self._leave(name)
            again = 0 if name in self.outs else len(block & self.sent[name].keys())
            counts.add(counts.read, name, again)
            counts.add(counts.resumed, name, again)
        elif name in self.loaded:
            counts.add(counts.read, name, len(block - self.loaded[name]))
            self.loaded[name] |= block
        elif name not in self.ins:
            counts.add(counts.read, name, len(block))
        self.blocks[name] = block

    def _leave(self, name: str) -> None:
        """Write a block of sums, unless it stays."""
        if name not in self.outs:
            for element in self.blocks.get(name, ()):
                self.sent[name][element] = self.sent[name].get(element, 0) + 1

    def _finish(self, name: str, value: SSAValue) -> None:
        """Count what was written: the last time each is a final element, and so is what nothing computes."""
        counts, every = self.counts, all_of(value)
        if name in self.outs:
            counts.add(counts.write, name, len(every) if self.stored[name] else 0)
            return
        written = sum(self.sent[name].values())
        counts.add(counts.write, name, written + len(every - self.sent[name].keys()))
        counts.add(counts.spilled, name, written - len(self.sent[name]))


def _block(tensor: Tensor, at: Intervals) -> Elements:
    """The elements that a tensor has in a tile."""
    each = (_indices(axis, size, at) for axis, size in zip(tensor.axes, tensor.shape, strict=True))
    return frozenset(product(*each))


def _indices(axis: Axis, size: int, at: Intervals) -> Iterator[int]:
    found = {axis.offset}
    for dim, coefficient in axis.terms:
        found = {one + coefficient * index for one in found for index in range(*at[dim])}
    yield from (one for one in sorted(found) if 0 <= one < size)


def _names(op: Operation) -> dict[str, SSAValue]:
    """The operands and results of an operation by name, each value once."""
    if isinstance(op, ContractOp):
        return {**op.named_operands(), **op.named_results()}
    found: dict[str, SSAValue] = {}
    for side, values in (("in", op.operands), ("out", op.results)):
        for number, value in enumerate(values):
            if value not in found.values():
                found[f"{side}{number}"] = value
    return found
