"""The patterns of this pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.transforms.interleave.fuse import erase_unused
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.rearrange.loop_order import permuted
from npuc.compiler.transforms.rearrange.one_nest import one_nest
from npuc.compiler.transforms.schedule.by_hand import ByHand
from npuc.compiler.transforms.schedule.pins import check_legal, dims_of, named, usage_error
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Schedule


@dataclass(frozen=True, eq=False)
class PermuteLoops(ByHand):
    """
    The loops of a contraction come in another order; their steps and the keep depths do not change.

        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 2, n : 2, k : 2] keep(W = 1) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
        --> PermuteLoops(order=("n", "k"))
        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [n : 2, k : 2, m : 2] keep(W = 1) : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>

    A contraction without a schedule, or without these dimensions, stays as it is. Loops over cores, partitions over
    time and batch dimensions remain outermost. Checks that no dimension is named twice, else raises `UsageError`, and
    that the blocks fit `spm`, by default the machine's SPM, which is written; else raises `CapacityError`.
    """

    name: ClassVar[str] = "permute-loops"

    order: Sequence[str]
    """Dimensions, outermost first; m, n and k are those of the forward product. The others come inside."""

    def schedule_of(self, op: ContractOp) -> Schedule | None:
        """The schedule in this order."""
        order = dims_in_order(op, self.order)
        return permuted(op.nest, op.schedule, order) if order and op.schedule_attr is not None else None


def dims_in_order(op: ContractOp, names: Sequence[str]) -> tuple[str, ...]:
    """The dimensions of a contraction that these names stand for. Raises `UsageError` for one that comes twice."""
    order = [dim for name in names for dim in dims_of(op.nest, name)]
    for dim in order:
        if order.count(dim) > 1:
            raise usage_error(op, f"order names {dim} of {named(op)} twice")
    return tuple(order)


@dataclass(frozen=True, eq=False)
class OneNest(NamedPattern):
    """
    The gradients of one product that run round-robin become one contraction, with a schedule that a function chooses.

        %dx, %dw = npu.interleave {
          %a = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
            {layer = "fc", role = "dx"} : (tensor<6x4xf32>, tensor<8x4xf32>) -> tensor<6x8xf32>
          %b = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
            {layer = "fc", role = "dw"} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
          npu.yield %a, %b : tensor<6x8xf32>, tensor<8x4xf32>
        } {layer = "fc", role = "dxdw"} : (tensor<6x8xf32>, tensor<8x4xf32>)
        --> OneNest(choose=lambda op: Schedule((Loop("m", 2), Loop("k", 2))))
        %dx, %dw = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n], X = %x[m, k])
            outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY) loops [m : 2, k : 2]
            {layer = "fc", role = "dxdw"}
            : (tensor<6x4xf32>, tensor<8x4xf32>, tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<8x4xf32>)

    Checks that they are dX and dW of one layer over the same dimensions, else leaves them, and that the loops are a
    schedule of the new nest, else raises `UsageError`.
    """

    name: ClassVar[str] = "one-nest"

    choose: Callable[[ContractOp], Schedule | None]
    """Gives the schedule of the new contraction, which is not in the program yet; None leaves the program as it is."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: InterleaveOp, rewriter: PatternRewriter, /) -> None:
        new = one_nest(op)
        schedule = None if new is None else self.choose(new)
        if new is None or schedule is None:
            return
        check_legal(new, schedule)
        new.schedule = schedule
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint  # also where the result has no name
        sources = [value for contract in op.contracts for value in contract.operands]
        rewriter.replace(op, new)
        erase_unused(sources, rewriter)


PATTERNS: tuple[type[NamedPattern], ...] = (PermuteLoops, OneNest)
