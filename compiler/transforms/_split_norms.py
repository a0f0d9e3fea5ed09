"""
A forward function without work that needs the whole batch at once.

    %y, %mean, %var = train.batch_norm %x, %gamma, %beta
    %z = train.dropout %y, %step p 0.1 seed 3

becomes

    %mean = train.channel_mean %x
    %known = train.detach %mean
    %var = train.channel_var %x, %known
    %y = train.normalize %x, %gamma, %beta, %mean, %var
    %ones = train.constant value 1.0
    %mask = train.dropout %ones, %step p 0.1 seed 3
    %z = train.mul %y, %mask
"""

from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from npuc.compiler.layers.base import OpT, derivative
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import is_short, shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp, ConstantOp, MulOp, constant
from npuc.dialects.train.dropout import DropoutOp
from npuc.dialects.train.norm import BatchNormOp
from npuc.dialects.train.normalize import ChannelMeanOp, ChannelVarOp, NormalizeOp
from npuc.dialects.train.shape import DetachOp


def split_batch_norms(func: FuncOp) -> None:
    """
    Replace what needs a whole batch at once, so that the batch can be shared: batch normalisations and dropouts.

    Values, statistics and gradients stay as they are but for rounding: elements that a dropout drops are times 0, so
    that they are 0 wherever they are finite.
    """
    for op in list(func.body.block.ops):
        if isinstance(op, BatchNormOp):
            _split(op)
        elif isinstance(op, DropoutOp) and not isinstance(op.x.owner, ConstantOp):
            _mask(op)


class _Steps:
    """The operations that take the place of another, in their order."""

    def __init__(self, source: Operation):
        self.source = source
        self.ops: list[Operation] = []

    def add(self, op: OpT) -> OpT:
        """Append an operation of the layer of the one that is replaced."""
        self.ops.append(derive(self.source, op))
        return op

    def replace(self, *results: SSAValue) -> None:
        """Put the operations in place of the source."""
        for old, new in zip(self.source.results, results, strict=True):
            new.name_hint = old.name_hint
        Rewriter.replace_op(self.source, self.ops, results)


def _split(op: BatchNormOp) -> None:
    """Batch normalisation by the mean, the mean of squared distances from it, and the normalisation by both."""
    steps = _Steps(op)
    mean = steps.add(ChannelMeanOp(op.x, results=[op.mean.type])).mean
    # Distances from a mean add up to 0, so that the variance has no slope along it: its gradient need not be computed,
    # nor be added up over devices.
    known = steps.add(DetachOp(mean)).out
    var = steps.add(ChannelVarOp(op.x, known)).var
    y = steps.add(derivative(NormalizeOp, op, op.x, *op.affine, mean, var)).y
    steps.replace(y, mean, var)


def _mask(op: DropoutOp) -> None:
    """
    A dropout as the product with a dropout of ones, which depends on the place in the whole tensor alone.

    Floats of 16 bits are multiplied as f32, since the dropout of x does not round 1 / (1 - p) either.
    """
    steps = _Steps(op)
    own = tensor_type(op.x)
    wide = tensor_of(f32, shape_of(op.x)) if is_short(op.x) else own
    ones = steps.add(constant(wide, 1.0)).out
    mask = steps.add(derivative(DropoutOp, op, ones, op.step)).out
    x = op.x if wide == own else steps.add(CastOp(op.x, results=[wide])).out
    y = steps.add(MulOp(x, mask)).out
    steps.replace(y if wide == own else steps.add(CastOp(y, results=[own])).out)
