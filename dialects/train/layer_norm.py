"""Layer normalisation with its derivatives."""

from xdsl.irdl import irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import Types
from npuc.dialects.train.norm import (
    NormBase,
    NormDwBase,
    NormDxBase,
    check_affine,
    check_dw,
    check_dx,
    dw_types,
    last_type,
    norm_types,
    rows_type,
)


@irdl_op_definition
class LayerNormOp(NormBase):
    """
    Normalise over the last axes; statistics a row.

    The scale has the shape of the axes that are normalised; the shift may be left out. Source: Ba, Kiros, Hinton
    (2016).

        %y, %mean, %var = train.layer_norm %x, %gamma, %beta : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
            -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
    """

    name = "train.layer_norm"

    @staticmethod
    def infer(x: Tensor, *affine: Tensor, results: Types = (), eps: float = 1e-5) -> Types:
        """Scale and shift have the sizes of the last axes."""
        if not affine:
            raise VerifyException("expected a scale beside the input")
        axes = len(affine[0].get_shape())
        check_affine(affine, last_type(x, axes))
        return norm_types(x, rows_type(x, axes), results)


@irdl_op_definition
class LayerNormDxOp(NormDxBase):
    """
    The gradient of layer normalisation's input.

        %dx = train.layer_norm_dx %dy, %x, %gamma, %mean, %var
            : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x3xf32>
    """

    name = "train.layer_norm_dx"

    @staticmethod
    def infer(dy: Tensor, x: Tensor, gamma: Tensor, *statistics: Tensor, eps: float = 1e-5) -> Types:
        """dy has x's type, gamma the last axes, the statistics one value a row."""
        axes = len(gamma.get_shape())
        check_dx(dy, x, (gamma, *statistics), last_type(x, axes), rows_type(x, axes))
        return (x,)


@irdl_op_definition
class LayerNormDwOp(NormDwBase):
    """
    The gradients of layer normalisation's parameters.

        %dgamma = train.layer_norm_dw %dy, %x, %mean, %var
            : (tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4x6xf32>
    """

    name = "train.layer_norm_dw"

    @staticmethod
    def infer(dy: Tensor, x: Tensor, mean: Tensor, var: Tensor, results: Types, eps: float = 1e-5) -> Types:
        """dy has x's type, the statistics one value a row."""
        axes = len(x.get_shape()) - len(mean.get_shape())
        last = last_type(x, axes)
        check_dw(dy, x, mean, var, rows_type(x, axes))
        return dw_types(results, last)
