"""Normalisation by the root of the mean square, with its derivatives."""

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.norm import last_type, rows_type
from npuc.dialects.train.rules import check_float, check_type


class RmsNormBase(TrainOp):
    """The number of last axes that are normalised, and eps."""

    axes = prop_def(IntegerAttr, default_value=encode(1))
    eps = prop_def(FloatAttr, default_value=encode(1e-6))
    traits = traits_def(Pure())


def _square_type(x: Tensor, axes: int) -> Tensor:
    check_float(x)
    rank = len(x.get_shape())
    if not 1 <= axes <= rank:
        raise VerifyException(f"axes is {axes}, expected 1 to {rank} for the input {shape_text(x)}")
    return rows_type(x, axes)


@irdl_op_definition
class RmsNormOp(RmsNormBase):
    """
    gamma x / sqrt(square + eps), square the mean of x^2 over the last `axes` axes.

    The scale has the shape of these axes and may be left out. Source: Zhang, Sennrich (2019).

        %y, %square = train.rms_norm %x, %gamma : (tensor<2x4x6xf32>, tensor<6xf32>)
            -> (tensor<2x4x6xf32>, tensor<2x4xf32>)
    """

    name = "train.rms_norm"

    x = operand_def(TensorType)
    gamma = opt_operand_def(TensorType)
    y = result_def(TensorType)
    square = result_def(TensorType)

    @staticmethod
    def infer(x: Tensor, gamma: Tensor | None = None, axes: int = 1, eps: float = 1e-6) -> Types:
        """The scale has the sizes of the last axes."""
        square = _square_type(x, axes)
        if gamma is not None:
            check_type("scale", gamma, last_type(x, axes))
        return (x, square)


@irdl_op_definition
class RmsNormDxOp(RmsNormBase):
    """
    The gradient of the input.

        %dx = train.rms_norm_dx %dy, %x, %square, %gamma axes 2
            : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2xf32>, tensor<4x6xf32>) -> tensor<2x4x6xf32>
    """

    name = "train.rms_norm_dx"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    square = operand_def(TensorType)
    gamma = opt_operand_def(TensorType)
    dx = result_def(TensorType)

    @staticmethod
    def infer(
        dy: Tensor, x: Tensor, square: Tensor, gamma: Tensor | None = None, axes: int = 1, eps: float = 1e-6
    ) -> Types:
        """dy has x's type, square one value a row, gamma the last axes."""
        check_type("dy", dy, x)
        check_type("mean square", square, _square_type(x, axes))
        if gamma is not None:
            check_type("scale", gamma, last_type(x, axes))
        return (x,)


@irdl_op_definition
class RmsNormDwOp(RmsNormBase):
    """
    The gradient of the scale.

        %dgamma = train.rms_norm_dw %dy, %x, %square : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4xf32>)
            -> tensor<6xf32>
    """

    name = "train.rms_norm_dw"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    square = operand_def(TensorType)
    dgamma = result_def(TensorType)

    @staticmethod
    def infer(dy: Tensor, x: Tensor, square: Tensor, axes: int = 1, eps: float = 1e-6) -> Types:
        """dy has x's type, square one value a row."""
        check_type("dy", dy, x)
        check_type("mean square", square, _square_type(x, axes))
        return (last_type(x, axes),)
