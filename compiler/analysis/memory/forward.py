"""
The forward pass of a function as a graph of values: what lies between two of them, and what all paths go through.

    ForwardGraph(func.body.block).cuts(x, y)

A value that is split off a concatenation is the value that was concatenated (`same`).
"""

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from npuc.dialects.provenance import Role, is_recomputed, role_of
from npuc.dialects.tensors import is_float, shape_of
from npuc.dialects.train.arithmetic import AddOp
from npuc.dialects.train.base import ints
from npuc.dialects.train.box import SliceOp
from npuc.dialects.train.join import ConcatOp, SplitOp


class ForwardGraph:
    """The forward operations of a block, in order, and questions about the paths between their values."""

    def __init__(self, block: Block):
        self.ops: list[Operation] = [
            op for op in block.ops if role_of(op) is Role.FORWARD and not is_recomputed(op) and op.results
        ]
        self.number: dict[Operation, int] = {op: number for number, op in enumerate(self.ops)}
        self.same: dict[SSAValue, SSAValue] = {}
        """The value that another one is a copy of."""
        for op in self.ops:
            self.same.update(_copies(op, self.same))
        self._operands = {op: [self.original(value) for value in op.operands] for op in self.ops}
        self.additions: list[AddOp] = [op for op in self.ops if isinstance(op, AddOp) and _adds_two_values(op)]
        """The sums of two floats of one shape, neither of which is an argument."""
        self._between: dict[tuple[SSAValue, SSAValue], tuple[Operation, ...]] = {}

    def original(self, value: SSAValue) -> SSAValue:
        """The value that another one is a copy of; any other value itself."""
        return self.same.get(value, value)

    def operands(self, op: Operation) -> list[SSAValue]:
        """What an operation reads, copies as their originals."""
        return self._operands[op]

    def reached(self, sources: Iterable[SSAValue]) -> set[SSAValue]:
        """The values that depend on some, with these."""
        found = set(sources)
        for op in self.ops:
            if any(value in found for value in self.operands(op)):
                found.update(op.results)
        return found

    def between(self, start: SSAValue, end: SSAValue) -> Sequence[Operation]:
        """The operations on the paths from one value to another, in order."""
        start, end = self.original(start), self.original(end)
        key = start, end
        if key not in self._between:
            self._between[key] = tuple(self._find_between(start, end))
        return self._between[key]

    def _find_between(self, start: SSAValue, end: SSAValue) -> list[Operation]:
        last = -1 if isinstance(end.owner, Block) else self.number.get(end.owner, -1)
        first = 0 if isinstance(start.owner, Block) else self.number.get(start.owner, 0) + 1
        reached, forward = {start}, list[Operation]()
        for op in self.ops[first : last + 1]:
            if any(value in reached for value in self.operands(op)):
                reached.update(op.results)
                forward.append(op)
        needed, found = {end}, list[Operation]()
        for op in reversed(forward):
            if any(result in needed for result in op.results):
                needed.update(value for value in self.operands(op) if value in reached)
                found.append(op)
        return found[::-1]

    def cuts(self, start: SSAValue, end: SSAValue) -> list[SSAValue]:
        """The values between two others that all paths from one to the other go through, without these two."""
        ops = self.between(start, end)
        place = {op: number for number, op in enumerate(ops)}
        last: dict[SSAValue, int] = {}
        for op in ops:
            for value in self.operands(op):
                last[value] = place[op]
        last[end] = len(ops)
        found, open_until = list[SSAValue](), last.get(start, 0)
        for number, op in enumerate(ops):
            read = [result for result in op.results if result in last]
            if open_until <= number and len(read) == 1 and read[0] is not end:
                found.append(read[0])
            open_until = max(open_until, *(last[result] for result in read), 0)
        return found


def _adds_two_values(op: AddOp) -> bool:
    return is_float(op.out) and all(v.type == op.out.type and isinstance(v.owner, Operation) for v in op.operands)


def _copies(op: Operation, known: dict[SSAValue, SSAValue]) -> Iterable[tuple[SSAValue, SSAValue]]:
    """The results of an operation that are parts of a concatenation, each with its part."""
    if isinstance(op, SplitOp):
        places = _places(ints(op.sizes))
        parts = [(result, *place) for result, place in zip(op.parts, places, strict=True)]
        axis = op.axis.value.data % len(shape_of(op.parts[0]))
    elif isinstance(op, SliceOp) and (op.steps is None or set(ints(op.steps)) == {1}):
        starts, shape, whole = ints(op.starts), shape_of(op.out), shape_of(op.x)
        cut = [number for number, size in enumerate(shape) if size != whole[number]]
        if len(cut) != 1:
            return
        axis = cut[0]
        parts = [(op.out, starts[axis], shape[axis])]
    else:
        return
    joined = op.operands[0].owner
    if not isinstance(joined, ConcatOp) or joined.axis.value.data % len(shape_of(joined.out)) != axis:
        return
    sizes = _places(shape_of(value)[axis] for value in joined.parts)
    by_place = dict(zip(sizes, joined.parts, strict=True))
    for result, start, size in parts:
        part = by_place.get((start, size))
        if part is not None:
            yield result, known.get(part, part)


def _places(sizes: Iterable[int]) -> list[tuple[int, int]]:
    """Where each of some parts begins, and its size."""
    found, start = list[tuple[int, int]](), 0
    for size in sizes:
        found.append((start, size))
        start += size
    return found
