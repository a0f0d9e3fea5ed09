"""The pattern of this pass."""

from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.stationary import streamed_dims
from npuc.compiler.analysis.nest.elements import Bits, contract_widths, footprint_bytes
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.schedule.by_hand import machine_around
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Nest, Schedule


@dataclass(frozen=True, eq=False)
class StreamInnermost(NamedPattern):
    """
    The loops over the dimensions that the array streams come innermost, so that the stationary tile is reused.

        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [m : 2, n : 2, k : 4] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
        --> StreamInnermost()
        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
            loops [n : 2, k : 4, m : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>

    So it is on a weight-stationary array. Checks that the module says its machine, that the array is not
    row-stationary, that the contraction has a schedule and that its statements stream the same dimensions, else leaves
    it as it is. Keep depths stay if the blocks fit `spm`, otherwise they are dropped.
    """

    name: ClassVar[str] = "stream-innermost"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter, /) -> None:
        machine = None if op.schedule_attr is None else machine_around(op)
        if machine is None or machine.array.dataflow == "rs":
            return
        new = grouped(op.nest, op.schedule, machine.array, contract_widths(op, machine))
        if new != op.schedule:
            op.schedule = new
            rewriter.notify_op_modified(op)


def grouped(nest: Nest, schedule: Schedule, array: Array, widths: Bits) -> Schedule:
    """The schedule with the loops of streamed dimensions innermost."""
    streamed = {streamed_dims(nest, statement, array) for statement in nest.statements}
    if len(streamed) != 1:
        return schedule
    (inner,) = streamed
    loops = tuple(sorted(schedule.loops, key=lambda loop: loop.dim in inner))
    if loops == schedule.loops:
        return schedule
    new = replace(schedule, loops=loops)
    if schedule.spm is not None and footprint_bytes(nest, new, widths) > schedule.spm:
        return replace(new, keep=())
    return new


PATTERNS: tuple[type[NamedPattern], ...] = (StreamInnermost,)
