"""
Transposed convolution over one, two or three axes and its derivatives.

The window moves over the output: each element of x is multiplied by the whole window and added up there. That is the
gradient of a convolution's input, as a layer of its own. Several sizes of the output belong to one input, so that
operations name it by their types.
"""

from collections.abc import Sequence
from typing import ClassVar, Unpack

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text
from npuc.dialects.train.base import Types
from npuc.dialects.train.conv import ConvOp, DwOp, DxOp, Window, Window1dOp, Window3dOp, WindowArguments, check_ranks
from npuc.dialects.train.rules import same_element


def smallest_output(size: Sequence[int], kernel: Sequence[int], window: Window) -> list[int]:
    """The size of each axis of the output without output padding: what the windows reach, less the padding."""
    steps = zip(size, kernel, window.stride, window.before, window.after, window.dilation, strict=True)
    return [(n - 1) * s + d * (k - 1) + 1 - before - after for n, k, s, before, after, d in steps]


def check_transposed(x: Tensor, w: Tensor, y: Tensor, window: Window, name: str) -> None:
    """Raise unless y, called `name`, is an output for x [b, c, …] and weights [c, o / groups, …]."""
    check_ranks(x, w, window.axes)
    groups = window.groups
    b, c, *size = x.get_shape()
    i, o, *kernel = w.get_shape()
    if groups < 1 or c % groups:
        raise VerifyException(f"groups is {groups}, expected a divisor of {c} input channels")
    if i != c:
        raise VerifyException(f"the input has {c} channels, the weight {shape_text(w)} reads {i}")
    least = smallest_output(size, kernel, window)
    room = [max(s, d) - 1 for s, d in zip(window.stride, window.dilation, strict=True)]
    shape = y.get_shape()
    spare = [n - m for n, m in zip(shape[2:], least, strict=False)]
    inside = all(0 <= n <= m for n, m in zip(spare, room, strict=False))
    if len(shape) != window.axes + 2 or shape[:2] != (b, o * groups) or not inside:
        sizes = "x".join(str(n) if not m else f"({n} to {n + m})" for n, m in zip(least, room, strict=True))
        raise VerifyException(
            f"{name} is {shape_text(y)}, the transposed convolution's output is {b}x{o * groups}x{sizes}"
        )
    same_element(x, w, y)


class TransposedOp(ConvOp):
    """The rule that transposed convolutions share with their derivatives."""

    TRANSPOSED: ClassVar[bool] = True

    @classmethod
    def check(cls, x: Tensor, w: Tensor, y: Tensor, window: Window, name: str) -> None:
        check_transposed(x, w, y, window, name)


class TransposedForwardOp(TransposedOp):
    """Base of transposed convolutions themselves."""

    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    w = operand_def(TensorType)
    out = result_def(TensorType)

    @classmethod
    def infer(cls, x: Tensor, w: Tensor, results: Types, **window: Unpack[WindowArguments]) -> Types:
        """The windows reach the whole result, or all but less than a stride (or dilation) at its end."""
        cls.check(x, w, results[0], cls.window_of(**window), "the result")
        return results


@irdl_op_definition
class ConvTranspose1dOp(Window1dOp, TransposedForwardOp):
    """
    Transposed convolution of x [b, c, l].

    `w` is [c, o / groups, s]; padding is [left, right], taken off the result.

        %y = train.conv_transpose1d %x, %w stride [2] groups 2 : (tensor<2x4x5xf32>, tensor<4x3x3xf32>)
            -> tensor<2x6x11xf32>
    """

    name = "train.conv_transpose1d"


@irdl_op_definition
class ConvTranspose1dDxOp(Window1dOp, TransposedOp, DxOp):
    """
    The gradient of the input.

        %dx = train.conv_transpose1d_dx %dy, %w stride [2] groups 2 : (tensor<2x6x12xf32>, tensor<4x3x3xf32>)
            -> tensor<2x4x5xf32>
    """

    name = "train.conv_transpose1d_dx"


@irdl_op_definition
class ConvTranspose1dDwOp(Window1dOp, TransposedOp, DwOp):
    """
    The gradient of the weights.

        %dw = train.conv_transpose1d_dw %x, %dy stride [2] groups 2 : (tensor<2x4x5xf32>, tensor<2x6x12xf32>)
            -> tensor<4x3x3xf32>
    """

    name = "train.conv_transpose1d_dw"


@irdl_op_definition
class ConvTranspose2dOp(TransposedForwardOp):
    """
    Transposed convolution of x [b, c, h, w].

    `w` is [c, o / groups, r, s]; padding is [top, bottom, left, right], taken off the result.

        %y = train.conv_transpose2d %x, %w stride [2, 2] padding [1, 1, 0, 0]
            : (tensor<2x4x5x3xf32>, tensor<4x6x3x2xf32>) -> tensor<2x6x9x6xf32>
    """

    name = "train.conv_transpose2d"


@irdl_op_definition
class ConvTranspose2dDxOp(TransposedOp, DxOp):
    """
    The gradient of the input.

        %dx = train.conv_transpose2d_dx %dy, %w stride [2, 2] padding [1, 1, 0, 0]
            : (tensor<2x6x9x6xf32>, tensor<4x6x3x2xf32>) -> tensor<2x4x5x3xf32>
    """

    name = "train.conv_transpose2d_dx"


@irdl_op_definition
class ConvTranspose2dDwOp(TransposedOp, DwOp):
    """
    The gradient of the weights.

        %dw = train.conv_transpose2d_dw %x, %dy stride [2, 2] padding [1, 1, 0, 0]
            : (tensor<2x4x5x3xf32>, tensor<2x6x9x6xf32>) -> tensor<4x6x3x2xf32>
    """

    name = "train.conv_transpose2d_dw"


@irdl_op_definition
class ConvTranspose3dOp(Window3dOp, TransposedForwardOp):
    """
    Transposed convolution of x [b, c, d, h, w].

    `w` is [c, o / groups, t, r, s]; padding is [front, back, top, bottom, left, right], taken off the result.

        %y = train.conv_transpose3d %x, %w stride [2, 2, 2] padding [0, 0, 1, 1, 0, 0]
            : (tensor<2x4x3x5x3xf32>, tensor<4x6x2x3x2xf32>) -> tensor<2x6x6x9x6xf32>
    """

    name = "train.conv_transpose3d"


@irdl_op_definition
class ConvTranspose3dDxOp(Window3dOp, TransposedOp, DxOp):
    """
    The gradient of the input.

        %dx = train.conv_transpose3d_dx %dy, %w stride [2, 2, 2] padding [0, 0, 1, 1, 0, 0]
            : (tensor<2x6x6x9x6xf32>, tensor<4x6x2x3x2xf32>) -> tensor<2x4x3x5x3xf32>
    """

    name = "train.conv_transpose3d_dx"


@irdl_op_definition
class ConvTranspose3dDwOp(Window3dOp, TransposedOp, DwOp):
    """
    The gradient of the weights.

        %dw = train.conv_transpose3d_dw %x, %dy stride [2, 2, 2] padding [0, 0, 1, 1, 0, 0]
            : (tensor<2x4x3x5x3xf32>, tensor<2x6x6x9x6xf32>) -> tensor<4x6x2x3x2xf32>
    """

    name = "train.conv_transpose3d_dw"
