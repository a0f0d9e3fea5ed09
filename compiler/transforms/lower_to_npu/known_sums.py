"""
Batch normalisation's dX by the sums that its dW has.

dX needs the means of dy and of dy z over each channel, which are dbeta and dgamma by the count (S. Ioffe, C. Szegedy,
"Batch normalization", 2015). So dy and x are read once for all sums and once for dX.
"""

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers.base import derivative
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.provenance import derive, repeat_of
from npuc.dialects.train.norm import BatchNormDwOp, BatchNormDxFromSumsOp, BatchNormDxOp


@frozen(eq=False)
class UseKnownSums(NamedPattern):
    """
    The dX of a batch normalisation takes the gradients of scale and shift, where they are computed, as its sums.

        %dgamma, %dbeta = train.batch_norm_dw %dy, %x, %mean, %var
          : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
        %dx = train.batch_norm_dx %dy, %x, %gamma, %mean, %var
          : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
        --> UseKnownSums()
        %dgamma, %dbeta = train.batch_norm_dw %dy, %x, %mean, %var
          : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
        %dx = train.batch_norm_dx_from_sums %dy, %x, %gamma, %mean, %var, %dgamma, %dbeta
          : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
          tensor<4xf32>) -> tensor<2x4xf32>

    The gradients of scale and shift are put in front of dX where they come later. Checks that both work on the same
    values, as often, in one block, that the normalisation has a scale, and that the gradient of its shift is computed;
    else dX computes its own sums.
    """

    name: ClassVar[str] = "use-known-sums"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormDxOp, rewriter: PatternRewriter, /) -> None:
        known = _sums_of(op)
        if known is None or op.gamma is None:
            return
        if _comes_later(known, op):
            known.detach()
            rewriter.insert(known, InsertPoint.before(op))
        dgamma, dbeta = known.results
        operands = (op.dy, op.x, op.gamma, op.mean, op.var, dgamma, dbeta)
        new = derive(op, derivative(BatchNormDxFromSumsOp, op, *operands))
        new.dx.name_hint = op.dx.name_hint
        rewriter.replace(op, new)


def _comes_later(other: Operation, op: Operation) -> bool:
    """Whether `other` stands behind `op` in its block; as quick as the two are near."""
    before, after = op.prev_op, op.next_op
    while before is not None and after is not None:
        if before is other or after is other:
            return after is other
        before, after = before.prev_op, after.next_op
    return before is None


def _sums_of(op: BatchNormDxOp) -> BatchNormDwOp | None:
    """The operation in the block of a dX that computes the gradients of scale and shift from the same values."""
    wanted: tuple[SSAValue, ...] = (op.dy, op.x, op.mean, op.var)
    for use in op.dy.uses:
        user = use.operation
        if (
            isinstance(user, BatchNormDwOp)
            and user.parent is op.parent
            and (user.dy, user.x, user.mean, user.var) == wanted
            and user.eps == op.eps
            and user.dbeta is not None
            and repeat_of(user) == repeat_of(op)
        ):
            return user
    return None
