"""
Convolution over one, two or three axes and its derivatives.

Activations are [batch, channels, …] followed by the axes of the window: length; height, width; depth, height, width.
"""

from __future__ import annotations

from typing import ClassVar, TypedDict, Unpack

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.compiler.core.frozen import frozen
from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode, ints
from npuc.dialects.train.rules import same_element
from npuc.dialects.train.window import check_window, window_size

Ints = tuple[int, ...]


@frozen
class Window:
    """The window arguments of a convolution; padding is two numbers an axis, in the order of the axes."""

    stride: Ints
    padding: Ints
    dilation: Ints
    groups: int

    @property
    def axes(self) -> int:
        """The number of axes that the window moves over."""
        return len(self.stride)

    @property
    def before(self) -> Ints:
        """The padding in front of each axis."""
        return self.padding[::2]

    @property
    def after(self) -> Ints:
        """The padding behind each axis."""
        return self.padding[1::2]


class WindowArguments(TypedDict, total=False):
    """The properties of a convolution that differ from their defaults: fields of `Window`."""

    stride: Ints
    padding: Ints
    dilation: Ints
    groups: int


class ConvOp(TrainOp):
    """
    The window arguments that convolutions and their derivatives share.

    A convolution is three products over X, W and Y, whatever its operands are called: `PRODUCT` says which of them an
    operation is, `TRANSPOSED` that Y is the larger tensor, over which the window moves. The defaults are those of two
    axes; operations over another number replace them.
    """

    AXES: ClassVar[int] = 2
    PRODUCT: ClassVar[str] = "forward"
    TRANSPOSED: ClassVar[bool] = False

    stride = prop_def(DenseArrayBase, default_value=encode((1, 1)))
    padding = prop_def(DenseArrayBase, default_value=encode((0, 0, 0, 0)))
    dilation = prop_def(DenseArrayBase, default_value=encode((1, 1)))
    groups = prop_def(IntegerAttr, default_value=encode(1))
    traits = traits_def(Pure())

    @property
    def window(self) -> Window:
        """The window arguments."""
        return Window(ints(self.stride), ints(self.padding), ints(self.dilation), self.groups.value.data)

    @classmethod
    def window_of(cls, **given: Unpack[WindowArguments]) -> Window:
        """The window for the arguments that are given, checked."""
        ones = (1,) * cls.AXES
        window = Window(
            given.get("stride", ones),
            given.get("padding", (0,) * (2 * cls.AXES)),
            given.get("dilation", ones),
            given.get("groups", 1),
        )
        check_window(window.stride, window.padding, window.dilation, cls.AXES)
        return window

    @classmethod
    def check(cls, x: Tensor, w: Tensor, y: Tensor, window: Window, name: str) -> None:
        """Raise unless y, called `name`, is an output of the convolution of x with w."""
        if (y,) != (forward := conv_type(x, w, window)):
            raise VerifyException(f"{name} is {shape_text(y)}, the convolution's output is {shape_text(forward[0])}")


class Window1dOp(ConvOp):
    """The window arguments over one axis."""

    AXES: ClassVar[int] = 1

    stride = prop_def(DenseArrayBase, default_value=encode((1,)))
    padding = prop_def(DenseArrayBase, default_value=encode((0, 0)))
    dilation = prop_def(DenseArrayBase, default_value=encode((1,)))


class Window3dOp(ConvOp):
    """The window arguments over three axes."""

    AXES: ClassVar[int] = 3

    stride = prop_def(DenseArrayBase, default_value=encode((1, 1, 1)))
    padding = prop_def(DenseArrayBase, default_value=encode((0, 0, 0, 0, 0, 0)))
    dilation = prop_def(DenseArrayBase, default_value=encode((1, 1, 1)))


def check_ranks(x: Tensor, w: Tensor, axes: int) -> None:
    """Raise unless input and weight have a batch, channels and the axes of the window."""
    if len(x.get_shape()) != axes + 2 or len(w.get_shape()) != axes + 2:
        raise VerifyException(f"input and weight must have rank {axes + 2}, got {shape_text(x)} and {shape_text(w)}")


def conv_type(x: Tensor, w: Tensor, window: Window) -> Types:
    """The output type of a convolution of x [b, c, …] with weights [o, c / groups, …]."""
    check_ranks(x, w, window.axes)
    groups = window.groups
    b, c, *size = x.get_shape()
    o, i, *kernel = w.get_shape()
    if groups < 1 or c % groups or o % groups:
        raise VerifyException(f"groups is {groups}, expected a divisor of {c} input and {o} output channels")
    if i * groups != c:
        raise VerifyException(
            f"the input has {c} channels, the weight {shape_text(w)} in {groups} groups reads {i * groups}"
        )
    steps = zip(size, kernel, window.stride, window.before, window.after, window.dilation, strict=True)
    out = [window_size(*step) for step in steps]
    if min(out) < 1:
        sides = "x".join(map(str, kernel))
        raise VerifyException(
            f"a {sides + ' window' if len(kernel) > 1 else 'window of ' + sides} does not fit into"
            f" {'x'.join(map(str, size))} with padding {list(window.padding)} and dilation {list(window.dilation)}"
        )
    return (tensor_of(same_element(x, w), (b, o, *out)),)


class ForwardOp(ConvOp):
    """Base of convolutions themselves."""

    x = operand_def(TensorType)
    w = operand_def(TensorType)
    out = result_def(TensorType)

    @classmethod
    def infer(cls, x: Tensor, w: Tensor, **window: Unpack[WindowArguments]) -> Types:
        """The positions of the window that fit."""
        return conv_type(x, w, cls.window_of(**window))


class DxOp(ConvOp):
    """Base of the gradients of the input."""

    PRODUCT: ClassVar[str] = "dx"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    w = operand_def(TensorType)
    dx = result_def(TensorType)

    @classmethod
    def infer(cls, dy: Tensor, w: Tensor, results: Types, **window: Unpack[WindowArguments]) -> Types:
        """Convolving the result with w gives dy's type."""
        cls.check(results[0], w, dy, cls.window_of(**window), "dy")
        return results


class DwOp(ConvOp):
    """Base of the gradients of the weights."""

    PRODUCT: ClassVar[str] = "dw"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    dy = operand_def(TensorType)
    dw = result_def(TensorType)

    @classmethod
    def infer(cls, x: Tensor, dy: Tensor, results: Types, **window: Unpack[WindowArguments]) -> Types:
        """Convolving x with the result gives dy's type."""
        cls.check(x, results[0], dy, cls.window_of(**window), "dy")
        return results


@irdl_op_definition
class Conv1dOp(Window1dOp, ForwardOp):
    """
    Convolution (cross-correlation) of x [b, c, l] with w.

    `w` is [o, c / groups, s]; padding is [left, right] of zeros.

        %y = train.conv1d %x, %w stride [2] padding [0, 1] dilation [2] groups 2
            : (tensor<2x4x9xf32>, tensor<6x2x3xf32>) -> tensor<2x6x3xf32>
    """

    name = "train.conv1d"


@irdl_op_definition
class Conv1dDxOp(Window1dOp, DxOp):
    """
    The gradient of the input of the convolution with the same arguments.

        %dx = train.conv1d_dx %dy, %w stride [2] groups 2 : (tensor<2x6x4xf32>, tensor<6x2x3xf32>)
            -> tensor<2x4x9xf32>
    """

    name = "train.conv1d_dx"


@irdl_op_definition
class Conv1dDwOp(Window1dOp, DwOp):
    """
    The gradient of the weights of the convolution with the same arguments.

        %dw = train.conv1d_dw %x, %dy stride [2] groups 2 : (tensor<2x4x9xf32>, tensor<2x6x4xf32>)
            -> tensor<6x2x3xf32>
    """

    name = "train.conv1d_dw"


@irdl_op_definition
class Conv2dOp(ForwardOp):
    """
    Convolution (cross-correlation) of x with w.

    `x` is [b, c, h, w], `w` [o, c / groups, r, s]; padding is [top, bottom, left, right] of zeros.

        %y = train.conv2d %x, %w stride [2, 1] padding [1, 0, 1, 1] dilation [1, 2]
            : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x4x6xf32>
    """

    name = "train.conv2d"


@irdl_op_definition
class Conv2dDxOp(DxOp):
    """
    The gradient of the input of the convolution with the same arguments.

        %dx = train.conv2d_dx %dy, %w padding [1, 1, 1, 1] : (tensor<2x6x8x8xf32>, tensor<6x4x3x3xf32>)
            -> tensor<2x4x8x8xf32>
    """

    name = "train.conv2d_dx"


@irdl_op_definition
class Conv2dDwOp(DwOp):
    """
    The gradient of the weights of the convolution with the same arguments.

        %dw = train.conv2d_dw %x, %dy padding [1, 1, 1, 1] groups 2 : (tensor<2x4x8x8xf32>, tensor<2x6x8x8xf32>)
            -> tensor<6x2x3x3xf32>
    """

    name = "train.conv2d_dw"


@irdl_op_definition
class Conv3dOp(Window3dOp, ForwardOp):
    """
    Convolution (cross-correlation) of x [b, c, d, h, w] with w.

    `w` is [o, c / groups, t, r, s]; padding is [front, back, top, bottom, left, right] of zeros.

        %y = train.conv3d %x, %w padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x5x6x7xf32>, tensor<6x4x2x3x3xf32>)
            -> tensor<2x6x4x6x5xf32>
    """

    name = "train.conv3d"


@irdl_op_definition
class Conv3dDxOp(Window3dOp, DxOp):
    """
    The gradient of the input of the convolution with the same arguments.

        %dx = train.conv3d_dx %dy, %w padding [0, 0, 1, 1, 0, 0] : (tensor<2x6x4x6x5xf32>, tensor<6x4x2x3x3xf32>)
            -> tensor<2x4x5x6x7xf32>
    """

    name = "train.conv3d_dx"


@irdl_op_definition
class Conv3dDwOp(Window3dOp, DwOp):
    """
    The gradient of the weights of the convolution with the same arguments.

        %dw = train.conv3d_dw %x, %dy padding [0, 0, 1, 1, 0, 0] : (tensor<2x4x5x6x7xf32>, tensor<2x6x4x6x5xf32>)
            -> tensor<6x4x2x3x3xf32>
    """

    name = "train.conv3d_dw"
