"""Running products, extremes and sums of exponentials along an axis, with derivatives; running sums are reductions."""

from xdsl.dialects.builtin import IntegerAttr, TensorType, i32
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_axis, check_float, check_numbers, same_type


@irdl_op_definition
class CumprodOp(TrainOp):
    """
    The product of all elements up to each one along an axis.

        %y = train.cumprod %x axis -1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    """

    name = "train.cumprod"

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int) -> Types:
        """The type of the operand, numbers."""
        check_numbers(x)
        check_axis(x, axis)
        return (x,)


@irdl_op_definition
class CumprodGradOp(TrainOp):
    """
    For each element the sum over all products that it is in, of dy times the other factors.

        %dx = train.cumprod_grad %dy, %x axis -1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    """

    name = "train.cumprod_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, x: Tensor, axis: int) -> Types:
        """Both operands have the result's type."""
        check_axis(x, axis)
        return same_type(dy, x)


@irdl_op_definition
class LogcumsumexpOp(TrainOp):
    """
    log(sum(exp(x))) of all elements up to each one along an axis, without overflow.

        %y = train.logcumsumexp %x axis 1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    """

    name = "train.logcumsumexp"

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int) -> Types:
        """The type of the operand, floats."""
        check_float(x)
        check_axis(x, axis)
        return (x,)


@irdl_op_definition
class LogcumsumexpGradOp(TrainOp):
    """
    For each element x the sum of dy exp(x - y) over the outputs y from its place on.

        %dx = train.logcumsumexp_grad %dy, %x, %y axis 1
            : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    """

    name = "train.logcumsumexp_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, x: Tensor, y: Tensor, axis: int) -> Types:
        """All operands have the result's type."""
        check_axis(x, axis)
        same_type(x, y)
        return same_type(dy, x)


class RunningExtremeOp(TrainOp):
    """Base of the running extremes."""

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    out = result_def(TensorType)
    places = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int) -> Types:
        """x's type, and i32 of its shape."""
        check_axis(x, axis)
        return x, tensor_of(i32, x.get_shape())


@irdl_op_definition
class CummaxOp(RunningExtremeOp):
    """
    The largest element up to each one along an axis, and its place, that of the last one of equal elements.

        %y, %places = train.cummax %x axis 1 : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    """

    name = "train.cummax"


@irdl_op_definition
class CumminOp(RunningExtremeOp):
    """
    The smallest element up to each one along an axis, and its place, that of the last one of equal elements.

        %y, %places = train.cummin %x axis 1 : (tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    """

    name = "train.cummin"
