"""Where the operations of a step stand when its gradients are summed in buckets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation

from npuc.compiler.transforms.bucket_gradients.sums import GradientSum, is_movable
from npuc.dialects.distributed import DistOp
from npuc.dialects.provenance import Role, role_of


def arrange(block: Block, buckets: Sequence[Sequence[GradientSum]]) -> bool:
    """
    Put each sum where its gradient is there, behind the last of its bucket what reads the sums, and updates in the
    order of buckets.

    Returns whether updates could be ordered; nothing else changes places.
    """
    ops = list(block.ops)
    last = ops.pop()
    order = _Order(ops, buckets).found()
    ordered = _with_ordered_updates(order, buckets)
    for op in ops:
        op.detach()
    block.insert_ops_before(order if ordered is None else ordered, last)
    return ordered is not None


@dataclass
class _Order:
    """The operations of a block as they come one after the other."""

    ops: Sequence[Operation]
    buckets: Sequence[Sequence[GradientSum]]
    placed: set[Operation] = field(default_factory=set[Operation])
    order: list[Operation] = field(default_factory=list[Operation])
    waiting: list[Operation] = field(default_factory=list[Operation])

    def __post_init__(self) -> None:
        self.after: dict[Operation | None, list[tuple[int, DistOp]]] = {}
        self.missing = [len(bucket) for bucket in self.buckets]
        self.sums: set[Operation] = set()
        for number, bucket in enumerate(self.buckets):
            for one in bucket:
                self.sums.update(one.ops)
                before = self.ops[one.ready] if one.ready >= 0 else None
                self.after.setdefault(before, []).append((number, one.ops[0]))
        self.inside = set(self.ops)

    def found(self) -> list[Operation]:
        """All operations in their new order."""
        self._sum_after(None)
        for op in self.ops:
            if op in self.sums:
                continue
            if self._may_run(op):
                self._place(op)
            else:
                self.waiting.append(op)
        assert not self.waiting, "what waits for a sum runs behind its bucket"
        return self.order

    def _may_run(self, op: Operation) -> bool:
        """Whether all is there that an operation reads."""
        return all(owner in self.placed for owner in read_by(op) if owner in self.inside)

    def _place(self, op: Operation) -> None:
        self.placed.add(op)
        self.order.append(op)
        self._sum_after(op)

    def _sum_after(self, op: Operation | None) -> None:
        """The sums of gradients that are there after an operation, and what these complete."""
        for number, first in self.after.get(op, ()):
            self.order.append(first)
            self.missing[number] -= 1
            if not self.missing[number]:
                self._complete(self.buckets[number])

    def _complete(self, bucket: Sequence[GradientSum]) -> None:
        """The further sums of a bucket, and then what has waited for it."""
        for stage in zip(*(one.ops[1:] for one in bucket), strict=True):
            self.order += stage
        for one in bucket:
            self.placed.update(one.ops)
        waiting, self.waiting = self.waiting, []
        for op in waiting:
            if self._may_run(op):
                self._place(op)
            else:
                self.waiting.append(op)


def read_by(op: Operation) -> Iterable[Operation]:
    """The operations whose results an operation reads, also in its regions."""
    for inner in op.walk() if op.regions else (op,):
        for value in inner.operands:
            if isinstance(value.owner, Operation):
                yield value.owner


def _with_ordered_updates(
    order: Sequence[Operation], buckets: Sequence[Sequence[GradientSum]]
) -> list[Operation] | None:
    """
    The operations with the updates at the end by the buckets that they read, each otherwise where it was; None where
    one of them has to stay where it is.
    """
    start = len(order)
    while start and role_of(order[start - 1]) is Role.UPDATE:
        start -= 1
    tail = order[start:]
    if not all(is_movable(op) for op in tail):
        return None
    rank: dict[Operation, int] = {}
    for number, bucket in enumerate(buckets, 1):
        rank.update({op: number for one in bucket for op in one.ops})
    for op in tail:
        rank[op] = max((rank.get(owner, 0) for owner in read_by(op)), default=0)
    for op in reversed(tail):  # what waits for no sum stands before the first that reads it
        readers = [rank[use.operation] for result in op.results for use in result.uses if use.operation in rank]
        if not rank[op] and readers:
            rank[op] = min(readers)
    return [*order[:start], *sorted(tail, key=lambda op: rank[op])]
