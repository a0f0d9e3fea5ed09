"""
Arithmetic on tensors: the four operations with broadcasting, a sum over broadcast axes, scaling, casts and constants.
"""

from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import broadcast, check_beside, check_numbers, same_element


class BinaryOp(TrainOp):
    """Base of the elementwise operations of two tensors, which broadcast by numpy's rule."""

    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(lhs: Tensor, rhs: Tensor) -> Types:
        """Both shapes broadcast to the result's; equal element types."""
        shape = broadcast(lhs.get_shape(), rhs.get_shape())
        if shape is None:
            raise VerifyException(f"shapes {shape_text(lhs)} and {shape_text(rhs)} do not broadcast")
        return (tensor_of(same_element(lhs, rhs), shape),)


class NumbersOp(BinaryOp):
    """Base of the operations of two tensors of numbers."""

    @staticmethod
    def infer(lhs: Tensor, rhs: Tensor) -> Types:
        """Both shapes broadcast to the result's; equal element types, not bool."""
        for x in (lhs, rhs):
            check_numbers(x)
        return BinaryOp.infer(lhs, rhs)


@irdl_op_definition
class AddOp(NumbersOp):
    """
    a + b.

        %y = train.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    """

    name = "train.add"


@irdl_op_definition
class SubOp(NumbersOp):
    """
    a - b.

        %y = train.sub %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.sub"


@irdl_op_definition
class MulOp(NumbersOp):
    """
    a * b, elementwise.

        %y = train.mul %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.mul"


@irdl_op_definition
class DivOp(NumbersOp):
    """
    a / b, elementwise; of integers rounded towards zero.

        %y = train.div %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.div"


@irdl_op_definition
class AffineOp(TrainOp):
    """
    x * scale + offset.

        %y = train.affine %x scale 2.0 offset 1.0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.affine"

    x = operand_def(TensorType)
    scale = prop_def(FloatAttr, default_value=encode(1.0))
    offset = prop_def(FloatAttr, default_value=encode(0.0))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, scale: float = 1.0, offset: float = 0.0) -> Types:
        """The shape and type of the operand; integers are scaled by integers."""
        check_numbers(x)
        check_beside(x, scale=scale, offset=offset)
        return (x,)


@irdl_op_definition
class ReduceOp(TrainOp):
    """
    The sum over the axes that broadcasting the result to x's shape adds.

        %y = train.reduce %x : (tensor<2x3xf32>) -> tensor<3xf32>
    """

    name = "train.reduce"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: Types) -> Types:
        """The result's shape must broadcast to the operand's."""
        (out,) = results
        if broadcast(x.get_shape(), out.get_shape()) != x.get_shape():
            raise VerifyException(f"cannot sum {shape_text(x)} to {shape_text(out)}")
        return (tensor_of(x.element_type, out.get_shape()),)


@irdl_op_definition
class CastOp(TrainOp):
    """
    Another element type.

    To integers values are rounded towards zero; to bool, what is not 0 becomes true; from bool, true becomes 1.
    `each_use`: it stands for one at each use, so that the gradients of uses are cast, and added in the type of x.

        %y = train.cast %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    """

    name = "train.cast"
    TAKES_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    each_use = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: Types, *, each_use: bool = False) -> Types:
        """The shape of the operand, any element type."""
        (out,) = results
        return (tensor_of(out.element_type, x.get_shape()),)


@irdl_op_definition
class ConstantOp(TrainOp):
    """
    A tensor filled with one value.

        %y = train.constant value 1.0 : () -> tensor<f32>
    """

    name = "train.constant"
    TAKES_RESULT: ClassVar[bool] = True

    value = prop_def(FloatAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(results: Types, value: float) -> Types:
        """Any type that has the value."""
        check_beside(results[0], value=value)
        return results


def constant(type: Tensor, value: float) -> ConstantOp:
    """A tensor of `type` filled with `value`."""
    return ConstantOp(results=[type], value=float(value))
