"""Rewrites of work that needs the whole batch at once, after which the batch can be shared."""

from dataclasses import dataclass, field
from typing import ClassVar

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.layers.base import OpT, derivative
from npuc.compiler.layers.dropout import dropout_of_part
from npuc.compiler.transforms.named_pattern import NamedPattern, replace_by_several
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, tensor_of
from npuc.dialects.train.base import ints
from npuc.dialects.train.constant import ArangeOp
from npuc.dialects.train.dropout import DropoutOp, place_shape
from npuc.dialects.train.norm import BatchNormOp
from npuc.dialects.train.normalize import ChannelMeanOp, ChannelVarOp, NormalizeOp
from npuc.dialects.train.shape import DetachOp, ReshapeOp


class _Steps:
    """The operations that take the place of another, in their order."""

    def __init__(self, source: Operation):
        self.source = source
        self.ops: list[Operation] = []

    def add(self, op: OpT) -> OpT:
        """Append an operation of the layer of the one that is replaced."""
        self.ops.append(derive(self.source, op))
        return op


@dataclass(frozen=True, eq=False)
class SplitBatchNorm(NamedPattern):
    """
    A batch normalisation becomes the mean, the mean of squared distances from it, and the normalisation by both.

        %y, %mean, %var = train.batch_norm %x, %gamma, %beta
          : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
        %z = train.relu %y : (tensor<8x4xf32>) -> tensor<8x4xf32>
        --> SplitBatchNorm()
        %mean = train.channel_mean %x : (tensor<8x4xf32>) -> tensor<4xf32>
        %y_1 = train.detach %mean : (tensor<4xf32>) -> tensor<4xf32>
        %var = train.channel_var %x, %y_1 : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<4xf32>
        %y = train.normalize %x, %gamma, %beta, %mean, %var
          : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
        %z = train.relu %y : (tensor<8x4xf32>) -> tensor<8x4xf32>

    Values, statistics and gradients stay as they are but for rounding. Checks the operation only.
    """

    name: ClassVar[str] = "split-batch-norm"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        steps = _Steps(op)
        mean = steps.add(ChannelMeanOp(op.x, results=[op.mean.type])).mean
        # Distances from a mean add up to 0, so that the variance has no slope along it: its gradient need not be
        # computed, nor be added up over devices.
        known = steps.add(DetachOp(mean)).out
        var = steps.add(ChannelVarOp(op.x, known)).var
        y = steps.add(derivative(NormalizeOp, op, op.x, *op.affine, mean, var)).y
        replace_by_several(rewriter, op, steps.ops, [y, mean, var])


@dataclass(frozen=True, eq=False)
class PlaceDropout(NamedPattern):
    """
    A dropout is told where in the whole tensor its elements are, so that a part of it has its part of the mask.

        %y = train.dropout %x, %step p 0.1 seed 3 : (tensor<8x4xf32>, tensor<i32>) -> tensor<8x4xf32>
        --> PlaceDropout()
        %y_1 = train.arange : () -> tensor<8xi32>
        %y_2 = train.reshape %y_1 : (tensor<8xi32>) -> tensor<8x1xi32>
        %y_3 = train.arange : () -> tensor<4xi32>
        %y = train.dropout %x, %step, %y_2, %y_3 p 0.1 seed 3 axes [0, 1] of [8, 4]
          : (tensor<8x4xf32>, tensor<i32>, tensor<8x1xi32>, tensor<4xi32>) -> tensor<8x4xf32>

    Values and gradients stay as they are to the bit. The dropouts of a block share the tables of positions. Checks that
    the dropout has none yet.
    """

    name: ClassVar[str] = "place-dropout"

    _known: dict[tuple[Block | None, int, int], SSAValue] = field(
        default_factory=dict[tuple[Block | None, int, int], SSAValue], init=False, repr=False
    )
    """The positions along axes that there are, by their block, number, and the number of axes from there on."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: DropoutOp, rewriter: PatternRewriter, /) -> None:
        if ints(op.axes):
            return
        steps, shape = _Steps(op), shape_of(op.x)
        places: dict[int, SSAValue] = {}
        for axis in (axis for axis, size in enumerate(shape) if size > 1):
            size, behind = shape[axis], len(shape) - axis
            key = op.parent, size, behind
            if key not in self._known:
                table = steps.add(ArangeOp(results=[tensor_of(i32, [size])])).out
                if behind > 1:
                    table = steps.add(ReshapeOp(table, results=[tensor_of(i32, place_shape(size, behind))])).out
                self._known[key] = table
            places[axis] = self._known[key]
        new = steps.add(dropout_of_part(op, op.x, op.step, places))
        replace_by_several(rewriter, op, steps.ops, [new.out])
