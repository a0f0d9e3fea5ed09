"""Matrix work, which its layer lowers by itself."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.verify import location_of
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Emit, Kind, told_of
from npuc.compiler.transforms.lower_to_npu.im2col import lower_by_im2col
from npuc.compiler.transforms.lower_to_npu.work import is_local
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.provenance import derive
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.conv import ConvOp

OpT = TypeVar("OpT", bound=Operation)


def _emitter(source: Operation, rewriter: PatternRewriter) -> Emit[Any]:
    """Puts operations of the layer and role of another in front of it."""

    def emit(new: OpT) -> OpT:
        return rewriter.insert(derive(source, new))

    return emit


@frozen(eq=False)
class LowerByLayer(NamedPattern):
    """
    An operation whose layer lowers it by itself becomes what the layer emits: matrix work is `npu.contract`.

        %y = train.matmul %x, %w : (tensor<6x5xf32>, tensor<5x8xf32>) -> tensor<6x8xf32>
        --> LowerByLayer()
        %y = npu.contract (m = 6, n = 8, k = 5) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
          : (tensor<6x5xf32>, tensor<5x8xf32>) -> tensor<6x8xf32>

    Layers from outside (entry point `npuc.layers`) do so by their method `lower`. Checks that there is a lowering:
    raises `SourceError` at matrix work without one.
    """

    name: ClassVar[str] = "lower-by-layer"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, TrainOp) or not is_local(op):
            return
        layer = get_layer(op)
        values = layer.lower(op, _emitter(op, rewriter))
        if values is not None:
            rewriter.replace(op, [], values)
        elif layer.kind is Kind.MATRIX:
            raise SourceError(
                f"{told_of(op)}{op.name} is matrix work without a loop nest: its layer does not lower it",
                location=location_of(op),
                hint="give the layer a method `lower` that emits an npu.contract",
            )


@frozen(eq=False)
class LowerConvByIm2col(NamedPattern):
    """
    A product of a convolution becomes a product of matrices, one of which is an explicit matrix of windows.

        %y = train.conv2d %x, %w : (tensor<1x2x4x4xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x2x2xf32>
        --> LowerConvByIm2col()
        %0 = npu.im2col %x rows (b = 1, y = 2, x = 2) cols (i = 2, r = 3, s = 3) [b, i, y + r, x + s]
          : (tensor<1x2x4x4xf32>) -> tensor<4x18xf32>
        %1 = npu.view reshape(%0) : (tensor<4x18xf32>) -> tensor<1x4x18xf32>
        %2 = npu.view reshape(%w) : (tensor<3x2x3x3xf32>) -> tensor<3x18xf32>
        %3 = npu.contract (b = 1, m = 4, n = 3, k = 18) ins(X = %1[b, m, k], W = %2[n, k]) outs(Y[b, n, m])
          do(Y += X * W) : (tensor<1x4x18xf32>, tensor<3x18xf32>) -> tensor<1x3x4xf32>
        %y = npu.view reshape(%3) : (tensor<1x3x4xf32>) -> tensor<1x3x2x2xf32>

    Checks that the window has more than one element, else leaves the convolution to its layer.
    """

    name: ClassVar[str] = "lower-conv-by-im2col"

    wanted: Callable[[ConvOp], bool] = lambda op: True
    """Says which convolutions; by default all."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ConvOp) and self.wanted(op):
            values = lower_by_im2col(op, _emitter(op, rewriter))
            if values is not None:
                rewriter.replace(op, [], values)
