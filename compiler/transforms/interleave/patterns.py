"""The patterns of this pass: contractions that share an operand run together."""

from collections.abc import Callable
from typing import ClassVar

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.interleave.fuse import fused, joined_nest, take_place
from npuc.compiler.transforms.interleave.round_robin import in_turn, keep_schedules
from npuc.compiler.transforms.interleave.sharing import Find, gradients, siblings
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.schedule.by_hand import machine_around
from npuc.compiler.transforms.schedule.patterns import JointSchedule, SetJointSchedule, SetSchedule
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Schedule


def no_schedule(op: ContractOp | InterleaveOp) -> None:
    """The choice of no schedule: the pass `schedule` chooses one later."""


@frozen(eq=False)
class FuseContractions(NamedPattern):
    """
    Contractions that share an operand become one contraction, with all their statements over the same dimensions.

        %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
            {layer = "fc", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
        %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
            {layer = "fc", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
        --> FuseContractions()
        %dx, %dw = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n], X = %x[m, k])
            outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY) {layer = "fc", role = "dxdw"}
            : (tensor<6x4xf32>, tensor<8x4xf32>, tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>)

    The new contraction stands in the place of the first. Checks that all run over the dimensions of the first, else
    leaves them. What `find` gives has been checked to run together: none reads what another computes, and nothing
    between them writes what one reads.
    """

    name: ClassVar[str] = "fuse"

    find: Find = gradients
    """Gives the set that begins with a contraction, or None: `gradients` (dX and dW of a product) or `siblings`."""
    choose: Callable[[ContractOp], Schedule | None] = no_schedule
    """Gives the schedule of the new contraction; None leaves that to the pass `schedule`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter, /) -> None:
        found = self.find(op)
        joined = None if found is None else joined_nest(found)
        if found is None or joined is None:
            return
        new = fused(found, joined)
        take_place(new, found, rewriter)
        SetSchedule(self.choose).match_and_rewrite(new, rewriter)


@frozen(eq=False)
class RoundRobin(NamedPattern):
    """
    Contractions that share an operand run in turn, a tile operation of each, in one scratchpad.

        %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
            {layer = "fc", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
        %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
            {layer = "fc", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
        --> RoundRobin()
        %dx, %dw = npu.interleave {
          %dx_1 = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
            {layer = "fc", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
          %dw_1 = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
            {layer = "fc", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
          npu.yield %dx_1, %dw_1 : tensor<6x8xf32>, tensor<8x4xf32>
        } {layer = "fc", role = "dxdw"} : (tensor<6x8xf32>, tensor<8x4xf32>)

    The new operation stands in the place of the first. Checks that all contractions have a schedule and that their
    blocks fit the SPM at once, else drops the schedules. What `find` gives has been checked to run together, as in
    `fuse`.
    """

    name: ClassVar[str] = "round-robin"

    find: Find = gradients
    """Gives the set that begins with a contraction, or None: `gradients` (dX and dW of a product) or `siblings`."""
    reschedule: Callable[[InterleaveOp], JointSchedule | None] = no_schedule
    """Gives schedules in place of those that were dropped."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter, /) -> None:
        found = self.find(op)
        if found is None:
            return
        new = in_turn(found)
        take_place(new, found, rewriter)
        if not keep_schedules(new, machine_around(new)):
            SetJointSchedule(self.reschedule).match_and_rewrite(new, rewriter)


__all__ = ["PATTERNS", "FuseContractions", "RoundRobin", "gradients", "no_schedule", "siblings"]
PATTERNS: tuple[type[NamedPattern], ...] = (FuseContractions, RoundRobin)
