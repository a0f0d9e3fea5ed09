"""
A forward function without work that needs the whole batch at once.

    %y, %mean, %var = train.batch_norm %x, %gamma, %beta
    %z = train.dropout %y, %step p 0.1 seed 3

becomes

    %mean = train.channel_mean %x
    %known = train.detach %mean
    %var = train.channel_var %x, %known
    %y = train.normalize %x, %gamma, %beta, %mean, %var
    %rows = train.reshape (train.arange : tensor<8xi32>)
    %columns = train.arange : tensor<4xi32>
    %z = train.dropout %y, %step, %rows, %columns p 0.1 seed 3 axes [0, 1] of [8, 4]
"""

from xdsl.dialects.builtin import i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from npuc.compiler.layers.base import OpT, derivative
from npuc.compiler.layers.dropout import dropout_of_part
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, tensor_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.constant import ArangeOp
from npuc.dialects.train.dropout import DropoutOp, place_shape
from npuc.dialects.train.norm import BatchNormOp
from npuc.dialects.train.normalize import ChannelMeanOp, ChannelVarOp, NormalizeOp
from npuc.dialects.train.shape import DetachOp, ReshapeOp


def split_batch_norms(func: FuncOp) -> None:
    """
    Replace what needs a whole batch at once, so that the batch can be shared: batch normalisations and dropouts.

    Values, statistics and gradients of a normalisation stay as they are but for rounding, those of a dropout to the
    bit.
    """
    known: dict[tuple[int, int], SSAValue] = {}
    for op in list(func.body.block.ops):
        if isinstance(op, BatchNormOp):
            _split(op)
        elif isinstance(op, DropoutOp) and not ints(op.axes):
            _place(op, known)


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


def _place(op: DropoutOp, known: dict[tuple[int, int], SSAValue]) -> None:
    """
    A dropout that is told where in the whole tensor its elements are, so that a part of it has its part of the mask.

    `known` are the positions along axes that there are, by their number and the number of axes from there on.
    """
    steps, shape = _Steps(op), shape_of(op.x)
    axes = tuple(axis for axis, size in enumerate(shape) if size > 1)
    for axis in axes:
        size, behind = shape[axis], len(shape) - axis
        if (size, behind) not in known:
            places = steps.add(ArangeOp(results=[tensor_of(i32, [size])])).out
            if behind > 1:
                places = steps.add(ReshapeOp(places, results=[tensor_of(i32, place_shape(size, behind))])).out
            known[size, behind] = places
    places = {axis: known[shape[axis], len(shape) - axis] for axis in axes}
    steps.replace(steps.add(dropout_of_part(op, op.x, op.step, places)).out)
