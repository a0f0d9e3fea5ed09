"""Operations that give their operand back, and pairs of operations of which one is enough."""

from typing import ClassVar

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.transforms.named_pattern import NamedPattern, maker, param
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.activation import ClipOp, ReluOp
from npuc.dialects.train.arithmetic import AffineOp, CastOp, ReduceOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.box import BorderPadOp, PadOp, SliceOp
from npuc.dialects.train.compare import LogicalAndOp, LogicalNotOp, LogicalOrOp, WhereOp
from npuc.dialects.train.join import ConcatOp, SplitOp
from npuc.dialects.train.order import FlipOp, RollOp, TriangleOp
from npuc.dialects.train.pointwise import AbsOp, MaxOp, MinOp, PowerOp
from npuc.dialects.train.shape import DetachOp, ExpandOp, ReshapeOp, TransposeOp

Shaping = ReshapeOp | ExpandOp | SliceOp | PadOp | BorderPadOp | ReduceOp | CastOp | ConcatOp | SplitOp
Idempotent = ReluOp | AbsOp | ClipOp | TriangleOp | DetachOp
Symmetric = MaxOp | MinOp | LogicalAndOp | LogicalOrOp


class SameShape(NamedPattern):
    """
    An operation that only gives its operand another shape or element type is its operand, where it has that already.

        %y = train.reshape %x : (tensor<6x4xf32>) -> tensor<6x4xf32>    -->    %x

    So are reshape, expand, slice, pad, reduce, cast, and concat and split of one part. Checks that the types are equal,
    and of a cast that it does not stand for one at each use.
    """

    name: ClassVar[str] = "same-shape"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Shaping, rewriter: PatternRewriter, /) -> None:
        if len(op.operands) != 1 or len(op.results) != 1 or op.operands[0].type != op.results[0].type:
            return
        if not (isinstance(op, CastOp) and op.each_use is not None):
            rewriter.replace(op, [], [op.operands[0]])


class NeutralParameters(NamedPattern):
    """
    An operation whose parameters are neutral is its operand.

        %y = train.affine %x : …                          -->    %x
        %y = train.transpose %x axes [0, 1, 2] : …        -->    %x

    So are flip without axes, roll by 0 along all axes, and power with exponent 1. Checks the parameters.
    """

    name: ClassVar[str] = "neutral-parameters"

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: AffineOp | TransposeOp | FlipOp | RollOp | PowerOp, rewriter: PatternRewriter, /
    ) -> None:
        if _is_neutral(op):
            rewriter.replace(op, [], [op.operands[0]])


def _is_neutral(op: TrainOp) -> bool:
    match op:
        case AffineOp():
            return param(op, "scale") == 1.0 and param(op, "offset") == 0.0
        case TransposeOp():
            return param(op, "axes") == tuple(range(len(shape_of(op.operands[0]))))
        case FlipOp():
            return param(op, "axes") == ()
        case RollOp():
            shifts = param(op, "shifts")
            return isinstance(shifts, tuple) and not any(shifts)
        case _:
            return param(op, "exponent") == 1.0


class Repeated(NamedPattern):
    """
    An operation that changes nothing the second time is done once.

        %a = train.relu %x : …
        %y = train.relu %a : …      -->      %y is %a

    So are abs, clip, triangle and detach. Checks that both have the same parameters. The gradient stays: where the
    second one passes it, so does the first.
    """

    name: ClassVar[str] = "repeated"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Idempotent, rewriter: PatternRewriter, /) -> None:
        inner = maker(op.operands[0], type(op))
        if inner is not None and inner.properties == op.properties:
            rewriter.replace(op, [], [inner.results[0]])


class Undone(NamedPattern):
    """
    Two operations of which the second undoes the first are the operand of the first.

        %a = train.flip %x axes [1] : …
        %y = train.flip %a axes [1] : …      -->      %x

    So are logical_not, and affine that only changes the sign. Checks that both have the same parameters.
    """

    name: ClassVar[str] = "undone"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: FlipOp | LogicalNotOp | AffineOp, rewriter: PatternRewriter, /) -> None:
        inner = maker(op.operands[0], type(op))
        if inner is None or inner.properties != op.properties:
            return
        if not isinstance(op, AffineOp) or (param(op, "scale") == -1.0 and param(op, "offset") == 0.0):
            rewriter.replace(op, [], [inner.operands[0]])


class EqualOperands(NamedPattern):
    """
    A choice between a value and itself is that value.

        %y = train.max %x, %x : …                    -->    %x
        %y = train.where %condition, %x, %x : …      -->    %x

    So are min, logical_and and logical_or. Checks that the operand has the result's type. The gradient stays: each of
    the two operands has half of it where they are equal, and their sum is the value's.
    """

    name: ClassVar[str] = "equal-operands"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Symmetric | WhereOp, rewriter: PatternRewriter, /) -> None:
        first, second = op.operands[-2:]
        if first is second and first.type == op.results[0].type:
            rewriter.replace(op, [], [first])
