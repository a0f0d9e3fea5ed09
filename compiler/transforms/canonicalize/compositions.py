"""Pairs of operations that are one, and splits of what was just joined."""

from typing import ClassVar, cast

from xdsl.dialects.builtin import AnyFloat, BFloat16Type, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.transforms.named_pattern import NamedPattern, maker, param
from npuc.dialects.provenance import derive
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.box import SliceOp
from npuc.dialects.train.join import ConcatOp, SplitOp, StackOp, UnbindOp
from npuc.dialects.train.shape import ExpandOp, ReshapeOp, TransposeOp


class TwoShapes(NamedPattern):
    """
    Two reshapes, expansions, transposes or slices in a row are one.

        %a = train.transpose %x axes [1, 2, 0] : …
        %y = train.transpose %a axes [0, 2, 1] : …      -->      %y = train.transpose %x axes [1, 0, 2] : …

    Checks that the second one reads the first, and of what moves data, which are transposes and slices, that nobody
    else does: else there would be as many as before. The new operation has the layer and role of the second.
    """

    name: ClassVar[str] = "two-shapes"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp | ExpandOp | TransposeOp | SliceOp, rewriter: PatternRewriter, /) -> None:
        inner = maker(op.operands[0], type(op))
        if inner is None or (isinstance(op, TransposeOp | SliceOp) and not op.operands[0].has_one_use()):
            return
        x, result = inner.operands[0], op.results[0]
        new: TrainOp
        match op:
            case TransposeOp():
                first, second = _integers(inner, "axes"), _integers(op, "axes")
                new = TransposeOp(x, axes=tuple(first[axis] for axis in second))
            case SliceOp():
                starts, steps = _joint_slice(inner, op)
                new = SliceOp(x, results=[result.type], starts=starts, **({} if steps is None else {"steps": steps}))
            case _:
                new = type(op)(x, results=[result.type])
        rewriter.replace(op, derive(op, new))


def _integers(op: TrainOp, name: str) -> tuple[int, ...]:
    return cast("tuple[int, ...]", param(op, name))


def _joint_slice(first: TrainOp, second: TrainOp) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """Where the slice of a slice begins in the whole, and its steps; None where they are 1 along all axes."""
    ones = (1,) * len(shape_of(first.operands[0]))
    steps = [cast("tuple[int, ...] | None", param(op, "steps")) or ones for op in (first, second)]
    begun = zip(_integers(first, "starts"), _integers(second, "starts"), steps[0], strict=True)
    joint = tuple(a * b for a, b in zip(*steps, strict=True))
    return tuple(start + step * further for start, further, step in begun), None if joint == ones else joint


class CastThere(NamedPattern):
    """
    A cast to a wider type and back is nothing, and one through a wider type is one cast.

        %a = train.cast %x : (tensor<4xbf16>) -> tensor<4xf32>
        %y = train.cast %a : (tensor<4xf32>) -> tensor<4xbf16>      -->      %x

    Checks that the first cast keeps every value, and that neither stands for one at each use.
    """

    name: ClassVar[str] = "cast-there"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter, /) -> None:
        inner = maker(op.x, CastOp)
        if inner is None or op.each_use is not None or inner.each_use is not None:
            return
        own, wide = (tensor_type(value).element_type for value in (inner.x, inner.out))
        if not keeps_values(own, wide):
            return
        if inner.x.type == op.out.type:
            rewriter.replace(op, [], [inner.x])
        else:
            rewriter.replace(op, derive(op, CastOp(inner.x, results=[op.out.type])))


def keeps_values(own: Attribute, wide: Attribute) -> bool:
    """Whether every value of one element type is a value of another."""
    if isinstance(own, AnyFloat) and isinstance(wide, AnyFloat):
        if isinstance(own, BFloat16Type) != isinstance(wide, BFloat16Type):
            return wide.bitwidth > 16
        return wide.bitwidth >= own.bitwidth
    if isinstance(own, IntegerType) and isinstance(wide, IntegerType):
        return wide.bitwidth >= own.bitwidth
    if isinstance(own, IntegerType) and isinstance(wide, AnyFloat):
        return own.bitwidth == 1 or (own.bitwidth, wide.bitwidth) == (32, 64)
    return False


class PartsOfWhole(NamedPattern):
    """
    The parts of what was just joined are what was joined, and what is joined of all parts is the whole.

        %c = train.concat %a, %b axis 1 : …
        %p, %q = train.split %c sizes [2, 3] axis 1 : …      -->      %a, %b

    So are stack and unbind. Checks the axis and the sizes, and that all parts come in order.
    """

    name: ClassVar[str] = "parts-of-whole"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SplitOp | UnbindOp | ConcatOp | StackOp, rewriter: PatternRewriter, /) -> None:
        match op:
            case SplitOp() | UnbindOp():
                joined = maker(op.operands[0], ConcatOp if isinstance(op, SplitOp) else StackOp)
                if joined is not None and _axis(joined) == _axis(op) and joined.operand_types == op.result_types:
                    rewriter.replace(op, [], list(joined.operands))
            case _:
                split = _parted(op, SplitOp if isinstance(op, ConcatOp) else UnbindOp)
                if split is not None and _axis(split) == _axis(op) and split.operand_types == op.result_types:
                    rewriter.replace(op, [], list(split.operands))


def _parted(op: Operation, kind: type[TrainOp]) -> TrainOp | None:
    """The operation that made all operands of another, in the order of its results."""
    owner = op.operands[0].owner if op.operands else None
    parts: list[SSAValue] = list(op.operands)
    return owner if isinstance(owner, kind) and list(owner.results) == parts else None


def _axis(op: TrainOp) -> int:
    """The axis of an operation, counted from the first; of stack and unbind that of the stacked tensor."""
    axis = param(op, "axis")
    assert isinstance(axis, int)
    rank = max(len(shape_of(value)) for value in (*op.operands, *op.results))
    return axis % rank
