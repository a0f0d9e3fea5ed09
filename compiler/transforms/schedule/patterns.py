"""The patterns of this pass, which give contractions the schedules that a function chooses."""

from collections.abc import Callable
from typing import ClassVar

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.schedule.pins import check_legal
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Schedule


@frozen(eq=False)
class SetSchedule(NamedPattern):
    """
    A contraction gets the schedule that a function chooses for it.

        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
        --> SetSchedule(choose=lambda op: Schedule(loops=(Loop("m", 2), Loop("n", 2)), keep=(("X", 1),)))
        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 2, n : 2] keep(X = 1) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>

    Checks that the loops are a schedule of the nest, else raises `UsageError` at the contraction. Whether the blocks
    fit `spm` is checked by the verifier.
    """

    name: ClassVar[str] = "set-schedule"

    choose: Callable[[ContractOp], Schedule | None]
    """Gives the schedule of a contraction; None leaves the one that it has. It may look at the program around it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter, /) -> None:
        schedule = self.choose(op)
        if schedule is None or (op.schedule_attr is not None and op.schedule == schedule):
            return
        check_legal(op, schedule)
        op.schedule = schedule
        rewriter.notify_op_modified(op)


@frozen
class JointSchedule:
    """The schedules of contractions that run round-robin, in their order, and their common SPM budget in bytes."""

    schedules: tuple[Schedule, ...]
    spm: int | None = None


@frozen(eq=False)
class SetJointSchedule(NamedPattern):
    """
    Contractions that run round-robin get the schedules and the common SPM budget that a function chooses for them.

        %y, %z = npu.interleave {
          %a = npu.contract (m = 6, n = 4) ins(X = %x[m, n], W = %w[n]) outs(Y[m]) do(Y += X * W)
            : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6xf32>
          %b = npu.contract (m = 6, n = 4) ins(X = %x[m, n], V = %v[m]) outs(Z[n]) do(Z += X * V)
            : (tensor<6x4xf32>, tensor<6xf32>) -> tensor<4xf32>
          npu.yield %a, %b : tensor<6xf32>, tensor<4xf32>
        } : (tensor<6xf32>, tensor<4xf32>)
        --> SetJointSchedule(choose=lambda op: JointSchedule((Schedule((Loop("m", 2),)), Schedule()), spm=256))
        %y, %z = npu.interleave spm 256 bytes {
          %a = npu.contract (m = 6, n = 4) ins(X = %x[m, n], W = %w[n]) outs(Y[m]) do(Y += X * W)
            loops [m : 2] : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6xf32>
          %b = npu.contract (m = 6, n = 4) ins(X = %x[m, n], V = %v[m]) outs(Z[n]) do(Z += X * V)
            loops [] : (tensor<6x4xf32>, tensor<6xf32>) -> tensor<4xf32>
          npu.yield %a, %b : tensor<6xf32>, tensor<4xf32>
        } : (tensor<6xf32>, tensor<4xf32>)

    Checks that there is a schedule for each contraction (`ValueError`), and that its loops are one of the nest, else
    raises `UsageError` at the contraction. Whether all blocks fit `spm` at once is checked by the verifier.
    """

    name: ClassVar[str] = "set-joint-schedule"

    choose: Callable[[InterleaveOp], JointSchedule | None]
    """Gives the schedules and the budget of an `npu.interleave`; None leaves those that it has."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: InterleaveOp, rewriter: PatternRewriter, /) -> None:
        joint = self.choose(op)
        contracts = op.contracts
        if joint is None or joint == joint_schedule(op):
            return
        for contract, schedule in zip(contracts, joint.schedules, strict=True):
            check_legal(contract, schedule)
        for contract, schedule in zip(contracts, joint.schedules, strict=True):
            contract.schedule = schedule
        op.spm = joint.spm
        rewriter.notify_op_modified(op)


def joint_schedule(op: InterleaveOp) -> JointSchedule | None:
    """The schedules that round-robin contractions have; None where one of them has none."""
    if any(contract.schedule_attr is None for contract in op.contracts):
        return None
    return JointSchedule(tuple(contract.schedule for contract in op.contracts), op.spm)


PATTERNS: tuple[type[NamedPattern], ...] = (SetSchedule, SetJointSchedule)
