"""Resizing of one to three axes by weighted sums, with its derivative; `upsample` has the common cases of images."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_float, check_output, check_positive

_MOST_AXES = 3


def _resized(x: Tensor, size: tuple[int, ...], scales: tuple[float, ...]) -> Types:
    check_float(x)
    axes = len(x.get_shape()) - 2
    if not 1 <= axes <= _MOST_AXES:
        raise VerifyException(f"x is {shape_text(x)}, expected one to three axes behind batch and channels")
    check_positive("size", size, axes)
    if len(scales) != axes or not all(scale >= 0 for scale in scales):
        raise VerifyException(f"scales is {list(scales)}, expected a number of at least 0 for each of {axes} axes")
    return (tensor_of(x.element_type, (*x.get_shape()[:2], *size)),)


@irdl_op_definition
class ResizeOp(TrainOp):
    """
    Along each axis behind batch and channels, weighted sums of 2 neighbours, or with `cubic` of 4.

    Position i lies at (i + 0.5) / scale - 0.5 of x, or with `corners` so that the corners of both tensors meet; a scale
    of 0 stands for the ratio of the sizes. With `antialias` the weights are wider where the axis shrinks.

        %y = train.resize %x size [8] scales [0.0] : (tensor<1x2x4xf32>) -> tensor<1x2x8xf32>
    """

    name = "train.resize"

    x = operand_def(TensorType)
    size = prop_def(DenseArrayBase)
    scales = prop_def(DenseArrayBase)
    cubic = opt_prop_def(UnitAttr)
    corners = opt_prop_def(UnitAttr)
    antialias = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        x: Tensor,
        size: tuple[int, ...],
        scales: tuple[float, ...],
        cubic: bool = False,
        corners: bool = False,
        antialias: bool = False,
    ) -> Types:
        """[batch, channels] of x, then the size."""
        return _resized(x, size, scales)


@irdl_op_definition
class ResizeGradOp(TrainOp):
    """
    The weighted gradients of all that read each.

        %dx = train.resize_grad %dy scales [0.0] cubic : (tensor<1x2x8xf32>) -> tensor<1x2x4xf32>
    """

    name = "train.resize_grad"
    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    scales = prop_def(DenseArrayBase)
    cubic = opt_prop_def(UnitAttr)
    corners = opt_prop_def(UnitAttr)
    antialias = opt_prop_def(UnitAttr)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        dy: Tensor,
        results: Types,
        scales: tuple[float, ...],
        cubic: bool = False,
        corners: bool = False,
        antialias: bool = False,
    ) -> Types:
        """dy and the result differ in the resized axes only."""
        check_output(dy, _resized(results[0], dy.get_shape()[2:], scales), "the resized tensor is")
        return results
