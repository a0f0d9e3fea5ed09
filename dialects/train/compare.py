"""Comparisons of tensors, operations on booleans, and selection between two tensors."""

from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.arithmetic import BinaryOp
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import broadcast, check_float
from npuc.dialects.train.unary import UnaryOp


class CompareOp(BinaryOp):
    """Base of the comparisons of two tensors, which broadcast by numpy's rule."""

    @staticmethod
    def infer(lhs: Tensor, rhs: Tensor) -> Types:
        """A bool of the shape that both broadcast to; equal element types."""
        (type,) = BinaryOp.infer(lhs, rhs)
        return (tensor_of(i1, type.get_shape()),)


@irdl_op_definition
class EqualOp(CompareOp):
    """
    Whether a = b.

        %y = train.equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    """

    name = "train.equal"


@irdl_op_definition
class NotEqualOp(CompareOp):
    """
    Whether a and b differ.

        %y = train.not_equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    """

    name = "train.not_equal"


@irdl_op_definition
class LessOp(CompareOp):
    """
    Whether a < b.

        %y = train.less %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    """

    name = "train.less"


@irdl_op_definition
class LessEqualOp(CompareOp):
    """
    Whether a <= b.

        %y = train.less_equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    """

    name = "train.less_equal"


@irdl_op_definition
class GreaterOp(CompareOp):
    """
    Whether a > b.

        %y = train.greater %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    """

    name = "train.greater"


@irdl_op_definition
class GreaterEqualOp(CompareOp):
    """
    Whether a >= b.

        %y = train.greater_equal %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    """

    name = "train.greater_equal"


def _check_bool(what: str, x: Tensor) -> None:
    if x.element_type != i1:
        raise VerifyException(f"{what} has element type {x.element_type}, expected bool: compare, as in x > 0")


class LogicalOp(BinaryOp):
    """Base of the operations of two tensors of booleans, which broadcast by numpy's rule."""

    @staticmethod
    def infer(lhs: Tensor, rhs: Tensor) -> Types:
        """Both shapes broadcast to the result's; all are bool."""
        for what, x in (("lhs", lhs), ("rhs", rhs)):
            _check_bool(what, x)
        return BinaryOp.infer(lhs, rhs)


@irdl_op_definition
class LogicalAndOp(LogicalOp):
    """
    Whether both are true.

        %y = train.logical_and %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
    """

    name = "train.logical_and"


@irdl_op_definition
class LogicalOrOp(LogicalOp):
    """
    Whether one of them is true.

        %y = train.logical_or %a, %b : (tensor<3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
    """

    name = "train.logical_or"


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """
    True for false and false for true.

        %y = train.logical_not %x : (tensor<2x3xi1>) -> tensor<2x3xi1>
    """

    name = "train.logical_not"

    @staticmethod
    def infer(x: Tensor) -> Types:
        """The type of the operand, a bool."""
        _check_bool("x", x)
        return (x,)


class FloatTestOp(UnaryOp):
    """Base of the questions about one floating-point number."""

    @staticmethod
    def infer(x: Tensor) -> Types:
        """A bool of the shape of the operand, which is floating point."""
        check_float(x)
        return (tensor_of(i1, x.get_shape()),)


@irdl_op_definition
class IsNanOp(FloatTestOp):
    """
    Whether x is not a number.

        %y = train.isnan %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
    """

    name = "train.isnan"


@irdl_op_definition
class IsInfOp(FloatTestOp):
    """
    Whether x is infinite.

        %y = train.isinf %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
    """

    name = "train.isinf"


@irdl_op_definition
class IsFiniteOp(FloatTestOp):
    """
    Whether x is a number and not infinite.

        %y = train.isfinite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
    """

    name = "train.isfinite"


@irdl_op_definition
class WhereOp(TrainOp):
    """
    x where the condition is true, else y; all three broadcast.

        %z = train.where %condition, %x, %y : (tensor<2x3xi1>, tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.where"

    condition = operand_def(TensorType)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(condition: Tensor, x: Tensor, y: Tensor) -> Types:
        """The type that x and y broadcast to, over the condition's shape."""
        _check_bool("the condition", condition)
        (type,) = BinaryOp.infer(x, y)
        shape = broadcast(condition.get_shape(), type.get_shape())
        if shape is None:
            shapes = f"{shape_text(condition)} of the condition and {shape_text(type)}"
            raise VerifyException(f"shapes {shapes} do not broadcast")
        return (tensor_of(type.element_type, shape),)
