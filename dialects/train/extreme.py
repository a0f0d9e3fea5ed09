"""Maxima and minima over axes, and their indices."""

from xdsl.dialects.builtin import IntegerAttr, TensorType, i32
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.reduction import AxesOp, reduced_shape
from npuc.dialects.train.rules import broadcast, check_axis, check_like_output, same_element


@irdl_op_definition
class AmaxOp(AxesOp):
    """
    The largest element over axes.

        %y = train.amax %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
    """

    name = "train.amax"


@irdl_op_definition
class AminOp(AxesOp):
    """
    The smallest element over axes.

        %y = train.amin %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
    """

    name = "train.amin"


@irdl_op_definition
class ExtremeGradOp(TrainOp):
    """
    dy where x equals its extreme y, in equal shares where several do; else 0.

        %dx = train.extreme_grad %dy, %x, %y : (tensor<1x3x1xf32>, tensor<2x3x4xf32>, tensor<1x3x1xf32>)
            -> tensor<2x3x4xf32>
    """

    name = "train.extreme_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, x: Tensor, y: Tensor) -> Types:
        """dy and y are x's type with size 1 along the reduced axes."""
        check_like_output(dy, y)
        return _reduced(dy, x)


class _PlaceOp(TrainOp):
    """Base of the places of extremes along one axis."""

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int) -> Types:
        """x's shape with size 1 along the axis; i32."""
        check_axis(x, axis)
        return (tensor_of(i32, reduced_shape(x.get_shape(), (axis % len(x.get_shape()),))),)


@irdl_op_definition
class ArgmaxOp(_PlaceOp):
    """
    The index of the first largest element.

        %y = train.argmax %x axis 1 : (tensor<2x3x4xf32>) -> tensor<2x1x4xi32>
    """

    name = "train.argmax"


@irdl_op_definition
class ArgminOp(_PlaceOp):
    """
    The index of the first smallest element.

        %y = train.argmin %x axis -1 : (tensor<2x3x4xf32>) -> tensor<2x3x1xi32>
    """

    name = "train.argmin"


def _reduced(dy: Tensor, x: Tensor) -> Types:
    ranks = len(dy.get_shape()), len(x.get_shape())
    if ranks[0] != ranks[1] or broadcast(dy.get_shape(), x.get_shape()) != x.get_shape():
        raise VerifyException(f"{shape_text(dy)} is no reduction of {shape_text(x)}")
    same_element(dy, x)
    return (x,)
