"""
Batch normalisation's dX by the sums that its dW has.

    %dx = train.batch_norm_dx %dy, %x, %gamma, %mean, %var
    %dgamma, %dbeta = train.batch_norm_dw %dy, %x, %mean, %var

becomes

    %dgamma, %dbeta = train.batch_norm_dw %dy, %x, %mean, %var
    %dx = train.batch_norm_dx_from_sums %dy, %x, %gamma, %mean, %var, %dgamma, %dbeta

dX needs the means of dy and of dy z over each channel, which are dbeta and dgamma by the count (S. Ioffe, C. Szegedy,
"Batch normalization", 2015). So dy and x are read once for all sums and once for dX. Without parameters that have a
gradient, dX computes its own sums.
"""

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from npuc.compiler.layers.base import derivative
from npuc.dialects.provenance import derive, repeat_of
from npuc.dialects.train.norm import BatchNormDwOp, BatchNormDxFromSumsOp, BatchNormDxOp


def use_known_sums(func: FuncOp) -> None:
    """Let each dX of a batch normalisation take the gradients of its parameters, where they are computed."""
    passed = set[Operation]()
    for op in list(func.body.block.ops):
        passed.add(op)
        known = _sums_of(op) if isinstance(op, BatchNormDxOp) else None
        if not isinstance(op, BatchNormDxOp) or known is None or op.gamma is None:
            continue
        dgamma, dbeta = known.results
        if known not in passed:
            known.detach()
            func.body.block.insert_op_before(known, op)
        operands = (op.dy, op.x, op.gamma, op.mean, op.var, dgamma, dbeta)
        new = derive(op, derivative(BatchNormDxFromSumsOp, op, *operands))
        new.dx.name_hint = op.dx.name_hint
        Rewriter.replace_op(op, new)


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
