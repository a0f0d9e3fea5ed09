"""Operations that are no matrix work: constants, views, moves and vector work, with their work from the layer table."""

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind, elements
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.distributed import DistOp
from npuc.dialects.npu import ConstantOp, MoveOp, VectorOp, ViewOp
from npuc.dialects.provenance import derive
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.opaque import OpaqueBase

_IMMEDIATE = frozenset({"constant", "integers"})
"""The kinds of constants that a move holds by itself: one value everywhere, listed integers."""


def is_local(op: Operation) -> bool:
    """Whether an operation is one of the train dialect that a device does by itself."""
    return isinstance(op, TrainOp) and not isinstance(op, DistOp)


def is_constant(value: SSAValue) -> bool:
    """Whether a value is known before the step."""
    return isinstance(value.owner, ConstantOp)


def _kind(op: TrainOp) -> str:
    return op.name.removeprefix("train.")


@frozen(eq=False)
class LowerConstant(NamedPattern):
    """
    What depends on no argument of the function becomes `npu.constant`.

        %y = train.constant value 2.0 : () -> tensor<4xf32>
        --> LowerConstant()
        %y = npu.constant constant() <{value = 2.0 : f64}> : () -> tensor<4xf32>

    So are causal masks, tables of positions, and each operation whose operands are all `npu.constant`, but for one that
    is known by its cost alone. Checks the kind of the layer, and what makes the operands.
    """

    name: ClassVar[str] = "lower-constant"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, TrainOp) or not is_local(op):
            return
        known = op.operands and not isinstance(op, OpaqueBase) and all(map(is_constant, op.operands))
        if get_layer(op).kind is Kind.CONSTANT or known:
            rewriter.replace(op, derive(op, ConstantOp(_kind(op), op.operands, op.result_types, op.properties)))


@frozen(eq=False)
class LowerView(NamedPattern):
    """
    An operation that only gives its operand another shape becomes `npu.view`.

        %y = train.reshape %x : (tensor<6x4xf32>) -> tensor<24xf32>
        --> LowerView()
        %y = npu.view reshape(%x) : (tensor<6x4xf32>) -> tensor<24xf32>

    Checks the kind of the layer.
    """

    name: ClassVar[str] = "lower-view"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, TrainOp) and is_local(op) and get_layer(op).kind is Kind.VIEW:
            rewriter.replace(op, derive(op, ViewOp(_kind(op), op.operands, op.result_types, op.properties)))


@frozen(eq=False)
class LowerMove(NamedPattern):
    """
    An operation that only moves elements becomes `npu.move`.

        %y = train.transpose %x axes [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
        --> LowerMove()
        %y = npu.move transpose(%x) <{axes = array<i64: 1, 0>}> : (tensor<6x4xf32>) -> tensor<4x6xf32>

    A move that reads or writes only parts of its tensors says so (`reads`, `writes`), by the layer's work; it does not
    read an operand that is one value everywhere or that lists integers. Checks the kind of the layer.
    """

    name: ClassVar[str] = "lower-move"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, TrainOp) or not is_local(op) or get_layer(op).kind is not Kind.DATA:
            return
        work = get_layer(op).work(op)
        reads = _reads(op, work.reads)
        new = MoveOp(_kind(op), op.operands, op.result_types, op.properties, reads=reads, writes=work.writes)
        rewriter.replace(op, derive(op, new))


def _reads(op: TrainOp, reads: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """What a move reads of each operand: nothing of one value everywhere and of listed integers."""
    unread = [isinstance(v.owner, ConstantOp) and v.owner.kind in _IMMEDIATE for v in op.operands]
    if not any(unread):
        return reads
    counts = reads or tuple(elements(v) for v in op.operands)
    return tuple(0 if skip else count for skip, count in zip(unread, counts, strict=True))


@frozen(eq=False)
class LowerVector(NamedPattern):
    """
    Elementwise and reduction work becomes `npu.vector`.

        %y = train.relu %x : (tensor<6x4xf32>) -> tensor<6x4xf32>
        --> LowerVector()
        %y = npu.vector relu(%x) ops 24 : (tensor<6x4xf32>) -> tensor<6x4xf32>

    The layer says how many vector operations it takes (`ops`), which operands are read twice (`reread`), and what is
    read and written where that is a part. Checks the kind of the layer.
    """

    name: ClassVar[str] = "lower-vector"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, TrainOp) or not is_local(op) or get_layer(op).kind is not Kind.VECTOR:
            return
        work = get_layer(op).work(op)
        new = VectorOp(
            _kind(op),
            op.operands,
            op.result_types,
            op.properties,
            ops=work.vector_ops,
            reads=work.reads,
            writes=work.writes,
            reread=work.reread,
        )
        rewriter.replace(op, derive(op, new))
