"""The pattern of this pass."""

from collections.abc import Callable
from typing import ClassVar

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.resident import Resident


@frozen
class Residency:
    """
    The tensors of an operation that are resident before and after it.

    Of a contraction also the schedule that goes with them; None: the present one.
    """

    resident: Resident
    schedule: Schedule | None = None


@frozen(eq=False)
class KeepInSpm(NamedPattern):
    """
    An operation finds tensors in SPM, or leaves them there for the next operation that reads them.

        %h = npu.vector exp(%x) ops 48 : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %y = npu.vector relu(%h) ops 48 : (tensor<6x8xf32>) -> tensor<6x8xf32>
        --> KeepInSpm(choose=lambda op: Residency(Resident(outs=("out0",)) if op.kind == "exp" else Resident(("in0",))))
        %h = npu.vector exp(%x) ops 48 resident(out out0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %y = npu.vector relu(%h) ops 48 resident(in in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>

    A tensor that one operation leaves, the next that finds it must name: both ends are written. The verifier checks
    that the names are those of tensors (`in0`, `out0` of vector work, those of the nest of a contraction), that the
    schedule completes what stays, and, for the whole function, that what is found was left, and that it fits beside
    the blocks of all operations between. Checks the present residency: an operation that has it already stays.
    """

    name: ClassVar[str] = "keep-in-spm"

    choose: Callable[[ContractOp | VectorOp], Residency | None]
    """Gives the residency of an operation; None leaves the one that it has."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp | VectorOp, rewriter: PatternRewriter, /) -> None:
        chosen = self.choose(op)
        if chosen is None:
            return
        if op.resident != chosen.resident:
            op.resident = chosen.resident
            rewriter.notify_op_modified(op)
        if isinstance(op, ContractOp) and chosen.schedule is not None:
            if op.schedule_attr is None or op.schedule != chosen.schedule:
                op.schedule = chosen.schedule
                rewriter.notify_op_modified(op)


PATTERNS: tuple[type[NamedPattern], ...] = (KeepInSpm,)
