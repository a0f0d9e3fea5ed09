"""The pattern of this pass."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.verify import location_of
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.vector import fused_with


@dataclass(frozen=True)
class Epilogue:
    """Vector work to fuse with a contraction, in order, and the schedule that goes with it (None: the present one)."""

    work: tuple[VectorOp, ...]
    schedule: Schedule | None = None


@dataclass(frozen=True, eq=False)
class FuseEpilogue(NamedPattern):
    """
    Vector work becomes the epilogue of a contraction: it moves there and runs on each block that is complete.

        %h = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
          loops [m : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
        %y = npu.vector relu(%h) ops 24 : (tensor<6x4xf32>) -> tensor<6x4xf32>
        --> FuseEpilogue(choose=lambda op: Epilogue((op.next_op,)))
        %h = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
          loops [m : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
        %y = npu.vector relu(%h) ops 24 fused : (tensor<6x4xf32>) -> tensor<6x4xf32>

    Checks that what the work reads is there where it moves to; else raises `UsageError` at the work. The verifier
    checks that the schedule completes the output block by block, that the work is on such blocks, and that all blocks
    fit `spm`. Whoever chooses answers for memory that the work overwrites: nothing may read the old values later on.
    """

    name: ClassVar[str] = "fuse-epilogue"

    choose: Callable[[ContractOp], Epilogue | None]
    """Gives all work that is to be fused with a contraction; None leaves the contraction as it is."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter, /) -> None:
        epilogue = self.choose(op)
        if epilogue is None:
            return
        if epilogue.schedule is not None and (op.schedule_attr is None or op.schedule != epilogue.schedule):
            op.schedule = epilogue.schedule
            rewriter.notify_op_modified(op)
        if epilogue.work == tuple(fused.op for fused in fused_with(op)):
            return
        last: Operation = op
        for work in epilogue.work:
            _check_available(work, last)
            work.detach()
            work.fused = True
            rewriter.insert(work, InsertPoint.after(last))
            last = work


def _check_available(work: VectorOp, place: Operation) -> None:
    """Raise `UsageError` if work reads what is made between a place and the work."""
    owners = {value.owner for value in work.operands}
    late = {op.name for op in _between(place, work) if op in owners}
    if late:
        names = ", ".join(sorted(late))
        raise UsageError(
            f"npu.vector {work.kind} cannot move to its contraction: {names} in between makes what it reads",
            location=location_of(work),
        )


def _between(first: Operation, second: Operation) -> Iterator[Operation]:
    """The operations of a block after one and before another."""
    op = first.next_op
    while op is not None and op is not second:
        yield op
        op = op.next_op


PATTERNS: tuple[type[NamedPattern], ...] = (FuseEpilogue,)
