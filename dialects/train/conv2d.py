"""Two-dimensional convolution and its two derivatives. Activations are [batch, channels, height, width]."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode, same_element, shape_text
from npuc.dialects.train.window import check_window, window_size

_ONES = encode((1, 1))
_NONE = encode((0, 0, 0, 0))
_GROUP = encode(1)


def conv2d_type(
    x: Tensor,
    w: Tensor,
    stride: tuple[int, ...] = (1, 1),
    padding: tuple[int, ...] = (0, 0, 0, 0),
    dilation: tuple[int, ...] = (1, 1),
    groups: int = 1,
) -> Types:
    """The output type of a convolution of x [b, c, h, w] with weights [o, c / groups, r, s]."""
    if len(x.get_shape()) != 4 or len(w.get_shape()) != 4:
        raise VerifyException(f"input and weight must have rank 4, got {shape_text(x)} and {shape_text(w)}")
    check_window(stride, padding, dilation)
    b, c, h, width = x.get_shape()
    o, i, r, s = w.get_shape()
    if groups < 1 or c % groups or o % groups:
        raise VerifyException(f"groups is {groups}, expected a divisor of {c} input and {o} output channels")
    if i * groups != c:
        raise VerifyException(
            f"the input has {c} channels, the weight {shape_text(w)} in {groups} groups reads {i * groups}"
        )
    out_h = window_size(h, r, stride[0], padding[0], padding[1], dilation[0])
    out_w = window_size(width, s, stride[1], padding[2], padding[3], dilation[1])
    if out_h < 1 or out_w < 1:
        raise VerifyException(
            f"a {r}x{s} window does not fit into {h}x{width} with padding {list(padding)} and dilation {list(dilation)}"
        )
    return (tensor_of(same_element(x, w), (b, o, out_h, out_w)),)


class Conv2dBase(TrainOp):
    """The window arguments that a convolution and its derivatives share."""

    stride = prop_def(DenseArrayBase, default_value=_ONES)
    padding = prop_def(DenseArrayBase, default_value=_NONE)
    dilation = prop_def(DenseArrayBase, default_value=_ONES)
    groups = prop_def(IntegerAttr, default_value=_GROUP)
    traits = traits_def(Pure())


@irdl_op_definition
class Conv2dOp(Conv2dBase):
    """
    `train.conv2d %x, %w stride [2, 2] padding [1, 1, 1, 1]`: convolution (cross-correlation) of x with w.

    `x` is [b, c, h, w], `w` [o, c / groups, r, s]; padding is [top, bottom, left, right] of zeros.
    """

    name = "train.conv2d"

    x = operand_def(TensorType)
    w = operand_def(TensorType)
    out = result_def(TensorType)

    infer = staticmethod(conv2d_type)


@irdl_op_definition
class Conv2dDxOp(Conv2dBase):
    """`train.conv2d_dx %dy, %w …`: the gradient of the input of the convolution with the same arguments."""

    name = "train.conv2d_dx"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    w = operand_def(TensorType)
    dx = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor,
        w: Tensor,
        results: tuple[Tensor, ...],
        stride: tuple[int, ...] = (1, 1),
        padding: tuple[int, ...] = (0, 0, 0, 0),
        dilation: tuple[int, ...] = (1, 1),
        groups: int = 1,
    ) -> Types:
        """Convolving the result with w gives dy's type."""
        (dx,) = results
        _expect(dy, conv2d_type(dx, w, stride, padding, dilation, groups))
        return results


@irdl_op_definition
class Conv2dDwOp(Conv2dBase):
    """`train.conv2d_dw %x, %dy …`: the gradient of the weights of the convolution with the same arguments."""

    name = "train.conv2d_dw"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    dy = operand_def(TensorType)
    dw = result_def(TensorType)

    @staticmethod
    def infer(
        x: Tensor,
        dy: Tensor,
        results: tuple[Tensor, ...],
        stride: tuple[int, ...] = (1, 1),
        padding: tuple[int, ...] = (0, 0, 0, 0),
        dilation: tuple[int, ...] = (1, 1),
        groups: int = 1,
    ) -> Types:
        """Convolving x with the result gives dy's type."""
        (dw,) = results
        _expect(dy, conv2d_type(x, dw, stride, padding, dilation, groups))
        return results


def _expect(dy: Tensor, forward: Types) -> None:
    if (dy,) != forward:
        raise VerifyException(f"dy is {shape_text(dy)}, the convolution's output is {shape_text(forward[0])}")
