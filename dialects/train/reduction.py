"""
Reductions over axes and running sums.

A reduction keeps its axes with size 1, so that a gradient of its shape broadcasts to the operand's; a view drops them.
The sum itself is `train.reduce`.
"""

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_axis, check_float, check_numbers, check_type


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with size 1 along the given axes."""
    return tuple(1 if i in axes else size for i, size in enumerate(shape))


class AxesOp(TrainOp):
    """Base of the reductions over several axes."""

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axes: tuple[int, ...]) -> Types:
        """x's shape with size 1 along the axes, which are in ascending order."""
        return over_axes(x, axes)


def over_axes(x: Tensor, axes: tuple[int, ...]) -> Types:
    """x's type with size 1 along axes in ascending order."""
    rank = len(x.get_shape())
    if list(axes) != sorted(set(axes)) or any(not 0 <= a < rank for a in axes):
        raise VerifyException(f"axes is {list(axes)}, expected ascending axes of {shape_text(x)}")
    return (tensor_of(x.element_type, reduced_shape(x.get_shape(), axes)),)


@irdl_op_definition
class ProdOp(AxesOp):
    """
    The product over axes.

        %y = train.prod %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
    """

    name = "train.prod"

    @staticmethod
    def infer(x: Tensor, axes: tuple[int, ...]) -> Types:
        """x's shape with size 1 along the axes, which are in ascending order."""
        check_numbers(x)
        return over_axes(x, axes)


@irdl_op_definition
class ProdGradOp(TrainOp):
    """
    dy times the product of the other elements over the axes.

        %dx = train.prod_grad %dy, %x axes [0, 2] : (tensor<1x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    """

    name = "train.prod_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, x: Tensor, axes: tuple[int, ...]) -> Types:
        """dy is x's type with size 1 along the axes."""
        return check_reduced(dy, x, axes)


@irdl_op_definition
class VarOp(TrainOp):
    """
    The sum of (x - mean)^2 over axes, by their size less `correction`.

        %y = train.var %x axes [1] correction 1.0 : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
    """

    name = "train.var"

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    correction = prop_def(FloatAttr, default_value=encode(1.0))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axes: tuple[int, ...], correction: float = 1.0) -> Types:
        """x's shape with size 1 along the axes, which are in ascending order."""
        check_float(x)
        return over_axes(x, axes)


@irdl_op_definition
class VarGradOp(TrainOp):
    """
    dy 2 (x - mean) by the size of the axes less `correction`.

        %dx = train.var_grad %dy, %x axes [0, 2] : (tensor<1x3x1xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    """

    name = "train.var_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    correction = prop_def(FloatAttr, default_value=encode(1.0))
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, x: Tensor, axes: tuple[int, ...], correction: float = 1.0) -> Types:
        """dy is x's type with size 1 along the axes."""
        return check_reduced(dy, x, axes)


@irdl_op_definition
class CumsumOp(TrainOp):
    """
    The sum of all elements up to each one along an axis; `reverse` sums from the end.

        %y = train.cumsum %x axis -1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    """

    name = "train.cumsum"

    x = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    reverse = opt_prop_def(UnitAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axis: int, reverse: bool = False) -> Types:
        """The type of the operand."""
        check_numbers(x)
        check_axis(x, axis)
        return (x,)


def check_reduced(dy: Tensor, x: Tensor, axes: tuple[int, ...]) -> Types:
    """The rule of a derivative: dy is x's type with size 1 along the axes; the result is x's."""
    (expected,) = over_axes(x, axes)
    check_type("dy", dy, expected)
    return (x,)
