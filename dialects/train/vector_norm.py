"""Norms of vectors along axes, with their derivative."""

from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.reduction import check_reduced, over_axes
from npuc.dialects.train.rules import check_float, check_like_output


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
        return over_axes(x, axes)


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
        return check_reduced(y, x, tuple(axis for axis, (size, kept) in enumerate(sizes) if size != kept))
