"""Pooling over windows of the last two axes of [batch, channels, height, width]."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_float, check_image, check_numbers, check_output, check_positive
from npuc.dialects.train.window import check_window, window_size

_ONES = (1, 1)
_NONE = (0, 0, 0, 0)
POOLED = "the pooling's output is"


def pool_type(
    x: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...] = _ONES,
    padding: tuple[int, ...] = _NONE,
    dilation: tuple[int, ...] = _ONES,
    ceil: bool = False,
) -> Types:
    """The output type of pooling x [b, c, h, w] with the window `kernel`."""
    check_numbers(x)
    check_image(x)
    check_positive("kernel", kernel, 2)
    check_window(stride, padding, dilation)
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    if max(padding[:2]) * 2 > spans[0] or max(padding[2:]) * 2 > spans[1]:
        raise VerifyException(f"padding {list(padding)} is more than half of the window {spans}")
    b, c, *sizes = x.get_shape()
    out: list[int] = []
    for axis, size in enumerate(sizes):
        before, after = padding[2 * axis : 2 * axis + 2]
        out.append(window_size(size, kernel[axis], stride[axis], before, after, dilation[axis], ceil=ceil))
        if out[-1] < 1:
            raise VerifyException(
                f"a {spans[0]}x{spans[1]} window does not fit into {sizes[0]}x{sizes[1]} with padding {list(padding)}"
            )
        _check_inside(size, kernel[axis], stride[axis], before, dilation[axis])
    return (tensor_of(x.element_type, (b, c, *out)),)


def _check_inside(size: int, kernel: int, stride: int, before: int, dilation: int) -> None:
    """Every window holds an element of the input: one that begins before it could step over a small input."""
    # A step over the input has a place of its own in it, of which there are `size`, until places repeat.
    looked_at = size + 1 if dilation > size else 1
    for start in range(-before, 0, stride)[:looked_at] if dilation > 1 else ():
        first = -(-(-start) // dilation)
        if first >= kernel or start + first * dilation >= size:
            raise VerifyException(f"a window with dilation {dilation} holds only padding of the {size} positions")


class PoolBase(TrainOp):
    """
    The window arguments that pooling operations share.

    padding is [top, bottom, left, right]; `ceil` rounds the number of windows up instead of down.
    """

    kernel = prop_def(DenseArrayBase)
    stride = prop_def(DenseArrayBase, default_value=encode(_ONES))
    padding = prop_def(DenseArrayBase, default_value=encode(_NONE))
    ceil = opt_prop_def(UnitAttr)
    traits = traits_def(Pure())


class MaxPoolBase(PoolBase):
    """`dilation` is the distance of neighbouring elements of a window."""

    dilation = prop_def(DenseArrayBase, default_value=encode(_ONES))


class AvgPoolBase(PoolBase):
    """`exclude` divides by the number of elements of the input in a window, padding not counted."""

    exclude = opt_prop_def(UnitAttr)


@irdl_op_definition
class MaxPoolOp(MaxPoolBase):
    """
    The largest value of each window; padding never wins.

        %y = train.max_pool %x kernel [2, 2] stride [2, 2] : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
    """

    name = "train.max_pool"

    x = operand_def(TensorType)
    out = result_def(TensorType)

    infer = staticmethod(pool_type)


@irdl_op_definition
class MaxPoolGradOp(MaxPoolBase):
    """
    Each gradient goes to the first largest element of its window.

    Padding takes none; of several NaN, which are larger than all, the last takes it.

        %dx = train.max_pool_grad %dy, %x kernel [2, 2] stride [2, 2] : (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>)
            -> tensor<2x4x8x8xf32>
    """

    name = "train.max_pool_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    dx = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor,
        x: Tensor,
        kernel: tuple[int, ...],
        stride: tuple[int, ...] = _ONES,
        padding: tuple[int, ...] = _NONE,
        dilation: tuple[int, ...] = _ONES,
        ceil: bool = False,
    ) -> Types:
        """Pooling x gives dy's type."""
        check_output(dy, pool_type(x, kernel, stride, padding, dilation, ceil), POOLED)
        return (x,)


@irdl_op_definition
class AvgPoolOp(AvgPoolBase):
    """
    The mean of each window, padding counted as zeros.

    Positions of a last window beyond the padding do not count.

        %y = train.avg_pool %x kernel [3, 3] padding [1, 1, 1, 1] : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
    """

    name = "train.avg_pool"

    x = operand_def(TensorType)
    out = result_def(TensorType)

    @staticmethod
    def infer(
        x: Tensor,
        kernel: tuple[int, ...],
        stride: tuple[int, ...] = _ONES,
        padding: tuple[int, ...] = _NONE,
        ceil: bool = False,
        exclude: bool = False,
    ) -> Types:
        """The number of windows on each axis."""
        check_float(x)
        return pool_type(x, kernel, stride, padding, ceil=ceil)


@irdl_op_definition
class AvgPoolGradOp(AvgPoolBase):
    """
    Each gradient is spread evenly over its window.

        %dx = train.avg_pool_grad %dy kernel [2, 2] stride [2, 2] : (tensor<2x4x4x4xf32>) -> tensor<2x4x8x8xf32>
    """

    name = "train.avg_pool_grad"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    dx = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor,
        results: Types,
        kernel: tuple[int, ...],
        stride: tuple[int, ...] = _ONES,
        padding: tuple[int, ...] = _NONE,
        ceil: bool = False,
        exclude: bool = False,
    ) -> Types:
        """Pooling the result gives dy's type."""
        (dx,) = results
        check_output(dy, pool_type(dx, kernel, stride, padding, ceil=ceil), POOLED)
        return results
