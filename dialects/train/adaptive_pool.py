"""
Pooling to a given size: window i of n over a length l reaches from floor(i l / n) to ceil((i + 1) l / n).

Source of the windows: PyTorch's adaptive pooling.
"""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.pool import POOLED
from npuc.dialects.train.rules import check_float, check_image, check_numbers, check_output, check_positive


def _pooled(x: Tensor, size: tuple[int, ...]) -> Types:
    check_numbers(x)
    check_image(x)
    check_positive("size", size, 2)
    return (tensor_of(x.element_type, (*x.get_shape()[:2], *size)),)


class AdaptivePoolBase(TrainOp):
    """Pooling to `size`, [height, width] of the result."""

    x = operand_def(TensorType)
    size = prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, size: tuple[int, ...]) -> Types:
        """[batch, channels] of x, then the size."""
        return _pooled(x, size)


@irdl_op_definition
class AdaptiveAvgPoolOp(AdaptivePoolBase):
    """
    The mean of each window.

        %y = train.adaptive_avg_pool %x size [3, 3] : (tensor<1x2x7x8xf32>) -> tensor<1x2x3x3xf32>
    """

    name = "train.adaptive_avg_pool"

    @staticmethod
    def infer(x: Tensor, size: tuple[int, ...]) -> Types:
        """[batch, channels] of x, then the size."""
        check_float(x)
        return _pooled(x, size)


@irdl_op_definition
class AdaptiveMaxPoolOp(AdaptivePoolBase):
    """
    The largest value of each window.

        %y = train.adaptive_max_pool %x size [3, 9] : (tensor<1x2x7x8xf32>) -> tensor<1x2x3x9xf32>
    """

    name = "train.adaptive_max_pool"


@irdl_op_definition
class AdaptiveAvgPoolGradOp(TrainOp):
    """
    Each gradient spread evenly over its window.

        %dx = train.adaptive_avg_pool_grad %dy : (tensor<1x2x3x3xf32>) -> tensor<1x2x7x8xf32>
    """

    name = "train.adaptive_avg_pool_grad"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, results: Types) -> Types:
        """dy and the result differ in height and width only."""
        check_output(dy, _pooled(results[0], dy.get_shape()[2:]), POOLED)
        return results


@irdl_op_definition
class AdaptiveMaxPoolGradOp(TrainOp):
    """
    Each gradient goes to the first largest element of its window.

        %dx = train.adaptive_max_pool_grad %dy, %x : (tensor<1x2x3x3xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x7x8xf32>
    """

    name = "train.adaptive_max_pool_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, x: Tensor) -> Types:
        """dy and x differ in height and width only."""
        check_output(dy, _pooled(x, dy.get_shape()[2:]), POOLED)
        return (x,)
