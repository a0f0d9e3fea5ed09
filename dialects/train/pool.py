"""Pooling over windows of the last two axes of [batch, channels, height, width]."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode, shape_text
from npuc.dialects.train.window import check_window, window_size


def pool_type(
    x: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...] = (1, 1), padding: tuple[int, ...] = (0, 0, 0, 0)
) -> Types:
    """The output type of pooling x [b, c, h, w] with the window `kernel`."""
    if len(x.get_shape()) != 4:
        raise VerifyException(f"the input must be [batch, channels, height, width], got {shape_text(x)}")
    if len(kernel) != 2 or min(kernel) < 1:
        raise VerifyException(f"kernel is {list(kernel)}, expected two integers of at least 1")
    check_window(stride, padding)
    if max(padding[:2]) * 2 > kernel[0] or max(padding[2:]) * 2 > kernel[1]:
        raise VerifyException(f"padding {list(padding)} is more than half of the window {list(kernel)}")
    b, c, h, w = x.get_shape()
    out_h = window_size(h, kernel[0], stride[0], padding[0], padding[1])
    out_w = window_size(w, kernel[1], stride[1], padding[2], padding[3])
    if out_h < 1 or out_w < 1:
        raise VerifyException(
            f"a {kernel[0]}x{kernel[1]} window does not fit into {h}x{w} with padding {list(padding)}"
        )
    return (tensor_of(x.element_type, (b, c, out_h, out_w)),)


class PoolBase(TrainOp):
    """The window arguments that pooling operations share."""

    kernel = prop_def(DenseArrayBase)
    stride = prop_def(DenseArrayBase, default_value=encode((1, 1)))
    padding = prop_def(DenseArrayBase, default_value=encode((0, 0, 0, 0)))
    traits = traits_def(Pure())


@irdl_op_definition
class MaxPoolOp(PoolBase):
    """`train.max_pool %x kernel [2, 2] stride [2, 2]`: the largest value of each window; padding never wins."""

    name = "train.max_pool"

    x = operand_def(TensorType)
    out = result_def(TensorType)

    infer = staticmethod(pool_type)


@irdl_op_definition
class MaxPoolGradOp(PoolBase):
    """`train.max_pool_grad %dy, %x …`: each gradient goes to the first largest element of its window."""

    name = "train.max_pool_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    dx = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor,
        x: Tensor,
        kernel: tuple[int, ...],
        stride: tuple[int, ...] = (1, 1),
        padding: tuple[int, ...] = (0, 0, 0, 0),
    ) -> Types:
        """Pooling x gives dy's type."""
        _expect(dy, pool_type(x, kernel, stride, padding))
        return (x,)


@irdl_op_definition
class AvgPoolOp(PoolBase):
    """`train.avg_pool %x kernel [2, 2] stride [2, 2]`: the mean of each window, padding counted as zeros."""

    name = "train.avg_pool"

    x = operand_def(TensorType)
    out = result_def(TensorType)

    infer = staticmethod(pool_type)


@irdl_op_definition
class AvgPoolGradOp(PoolBase):
    """`train.avg_pool_grad %dy …`: each gradient is spread evenly over its window."""

    name = "train.avg_pool_grad"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    dx = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor,
        results: tuple[Tensor, ...],
        kernel: tuple[int, ...],
        stride: tuple[int, ...] = (1, 1),
        padding: tuple[int, ...] = (0, 0, 0, 0),
    ) -> Types:
        """Pooling the result gives dy's type."""
        (dx,) = results
        _expect(dy, pool_type(dx, kernel, stride, padding))
        return results


def _expect(dy: Tensor, forward: Types) -> None:
    if (dy,) != forward:
        raise VerifyException(f"dy is {shape_text(dy)}, the pooling's output is {shape_text(forward[0])}")
