"""Resizing of images, nearest and bilinear, with derivatives."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_float, check_image, check_output, check_positive

_ZERO = encode(0.0)
_RESIZED = "the resized image is"


def _resized(x: Tensor, size: tuple[int, ...], scale_h: float, scale_w: float) -> Types:
    check_image(x)
    check_positive("size", size, 2)
    if not (scale_h >= 0 and scale_w >= 0):
        raise VerifyException(f"the scales are {scale_h} and {scale_w}, expected numbers of at least 0")
    return (tensor_of(x.element_type, (*x.get_shape()[:2], *size)),)


class ResizeBase(TrainOp):
    """
    The distances of the rows and columns at which results are taken: 1 / `scale_h` and 1 / `scale_w`.

    A scale of 0 stands for the ratio of the sizes, size of the output over size of the input.
    """

    scale_h = prop_def(FloatAttr, default_value=_ZERO)
    scale_w = prop_def(FloatAttr, default_value=_ZERO)
    traits = traits_def(Pure())


@irdl_op_definition
class UpsampleNearestOp(ResizeBase):
    """
    Row i is row floor(i / scale_h) of x, columns likewise.

    Where the size doubles it is row i >> 1 for every scale. With `exact` it is row floor((i + 0.5) / scale_h).

        %y = train.upsample_nearest %x size [6, 8] : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
    """

    name = "train.upsample_nearest"

    x = operand_def(TensorType)
    size = prop_def(DenseArrayBase)
    exact = opt_prop_def(UnitAttr)
    out = result_def(TensorType)

    @staticmethod
    def infer(
        x: Tensor, size: tuple[int, ...], scale_h: float = 0.0, scale_w: float = 0.0, exact: bool = False
    ) -> Types:
        """[batch, channels] of x, then the size."""
        return _resized(x, size, scale_h, scale_w)


@irdl_op_definition
class UpsampleNearestGradOp(ResizeBase):
    """
    For each element the sum of its copies.

        %dx = train.upsample_nearest_grad %dy scale_h 1.5 scale_w 1.6 : (tensor<1x2x4x6xf32>) -> tensor<1x2x3x4xf32>
    """

    name = "train.upsample_nearest_grad"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    exact = opt_prop_def(UnitAttr)
    dx = result_def(TensorType)

    @staticmethod
    def infer(dy: Tensor, results: Types, scale_h: float = 0.0, scale_w: float = 0.0, exact: bool = False) -> Types:
        """dy and the result differ in height and width only."""
        check_output(dy, _resized(results[0], dy.get_shape()[2:], scale_h, scale_w), _RESIZED)
        return results


@irdl_op_definition
class UpsampleBilinearOp(ResizeBase):
    """
    Weighted means of the two nearest rows and columns.

    Row i lies at (i + 0.5) / scale_h - 0.5 of x, not before row 0; with `corners` at i (h - 1) / (size - 1), so that
    the corners of both images meet.

        %y = train.upsample_bilinear %x size [6, 8] corners : (tensor<1x2x3x4xf32>) -> tensor<1x2x6x8xf32>
    """

    name = "train.upsample_bilinear"

    x = operand_def(TensorType)
    size = prop_def(DenseArrayBase)
    corners = opt_prop_def(UnitAttr)
    out = result_def(TensorType)

    @staticmethod
    def infer(
        x: Tensor, size: tuple[int, ...], scale_h: float = 0.0, scale_w: float = 0.0, corners: bool = False
    ) -> Types:
        """[batch, channels] of x, then the size."""
        check_float(x)
        return _resized(x, size, scale_h, scale_w)


@irdl_op_definition
class UpsampleBilinearGradOp(ResizeBase):
    """
    The weighted gradients of all that read each.

        %dx = train.upsample_bilinear_grad %dy corners : (tensor<1x2x6x8xf32>) -> tensor<1x2x3x4xf32>
    """

    name = "train.upsample_bilinear_grad"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    corners = opt_prop_def(UnitAttr)
    dx = result_def(TensorType)

    @staticmethod
    def infer(dy: Tensor, results: Types, scale_h: float = 0.0, scale_w: float = 0.0, corners: bool = False) -> Types:
        """dy and the result differ in height and width only."""
        check_output(dy, _resized(results[0], dy.get_shape()[2:], scale_h, scale_w), _RESIZED)
        return results
