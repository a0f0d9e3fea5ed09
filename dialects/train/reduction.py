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
from npuc.dialects.train.rules import check_axis, check_float, check_like_output, check_numbers, check_type


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
        return _over(x, axes)


def _over(x: Tensor, axes: tuple[int, ...]) -> Types:
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
        return _over(x, axes)


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
        return _gradient(dy, x, axes)


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
        return _over(x, axes)


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
        return _gradient(dy, x, axes)


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


def _gradient(dy: Tensor, x: Tensor, axes: tuple[int, ...]) -> Types:
    (expected,) = _over(x, axes)
    check_type("dy", dy, expected)
    return (x,)


@irdl_op_definition
class VectorNormOp(TrainOp):
    """
    The root of the sum of powers of |x| over axes, by default the Euclidean length: sum(|x|^order)^(1 / order).

        %y = train.vector_norm %x axes [0, 2] : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
    """

    name = "train.vector_norm"

    x = operand_def(TensorType)
    axes = prop_def(DenseArrayBase)
    order = prop_def(FloatAttr, default_value=encode(2.0))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, axes: tuple[int, ...], order: float = 2.0) -> Types:
        """x's shape with size 1 along the axes, which are in ascending order; a positive order."""
        check_float(x)
        if not order > 0:
            raise VerifyException(f"order is {order}, expected a number above 0")
        return _over(x, axes)


@irdl_op_definition
class VectorNormGradOp(TrainOp):
    """
    dy sign(x) (|x| / y)^(order - 1), y the output; 0 where x or y is 0.

        %dx = train.vector_norm_grad %dy, %x, %y order 3.0
            : (tensor<2x1xf32>, tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
    """

    name = "train.vector_norm_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    y = operand_def(TensorType)
    order = prop_def(FloatAttr, default_value=encode(2.0))
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, x: Tensor, y: Tensor, order: float = 2.0) -> Types:
        """dy and y are x's type with size 1 along the reduced axes."""
        check_like_output(dy, y)
        sizes = zip(x.get_shape(), y.get_shape(), strict=False)
        return _gradient(y, x, tuple(axis for axis, (size, kept) in enumerate(sizes) if size != kept))
