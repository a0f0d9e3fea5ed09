"""Softmax and its logarithm along one axis."""

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_axis, check_float, check_like_output

_LAST = encode(-1)


class AlongAxisOp(TrainOp):
    """Base of the functions of one tensor along an axis."""

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr, default_value=_LAST)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int = -1) -> Types:
        """The type of the operand, which is floating point."""
        check_float(x)
        check_axis(x, axis)
        return (x,)


class AlongAxisGradOp(TrainOp):
    """Base of their derivatives: from the output's gradient and the output."""

    dy = operand_def(TensorType)
    y = operand_def(TensorType)
    axis = prop_def(IntegerAttr, default_value=_LAST)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, y: Tensor, axis: int = -1) -> Types:
        """Both operands have the result's type."""
        check_like_output(dy, y)
        check_axis(y, axis)
        return (y,)


@irdl_op_definition
class SoftmaxOp(AlongAxisOp):
    """
    exp(x) over its sum along an axis.

        %y = train.softmax %x axis 0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.softmax"


@irdl_op_definition
class SoftmaxGradOp(AlongAxisGradOp):
    """
    y (dy - sum(dy y)).

        %dx = train.softmax_grad %dy, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.softmax_grad"


@irdl_op_definition
class LogSoftmaxOp(AlongAxisOp):
    """
    x - log(sum(exp(x))) along an axis.

        %y = train.log_softmax %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.log_softmax"


@irdl_op_definition
class LogSoftmaxGradOp(AlongAxisGradOp):
    """
    dy - exp(y) sum(dy).

        %dx = train.log_softmax_grad %dy, %y axis 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.log_softmax_grad"
