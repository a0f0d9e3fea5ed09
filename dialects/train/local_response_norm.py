"""Local response normalisation with its derivative."""

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.norm import float_channel_type
from npuc.dialects.train.rules import check_type


class LocalResponseNormBase(TrainOp):
    """What the normalisation and its derivative share."""

    size = prop_def(IntegerAttr)
    alpha = prop_def(FloatAttr, default_value=encode(1e-4))
    beta = prop_def(FloatAttr, default_value=encode(0.75))
    k = prop_def(FloatAttr, default_value=encode(1.0))
    traits = traits_def(Pure())


def _check(x: Tensor, size: int) -> None:
    float_channel_type(x)
    if size < 1:
        raise VerifyException(f"size is {size}, expected at least 1")


@irdl_op_definition
class LocalResponseNormOp(LocalResponseNormBase):
    """
    x / (k + alpha / size s)^beta, s the sum of x^2 over `size` channels, from size // 2 before to (size - 1) // 2
    behind.

    x is [batch, channels, …]. Source: Krizhevsky, Sutskever, Hinton (2012), with PyTorch's alpha / size.

        %y = train.local_response_norm %x size 5 : (tensor<2x4x3x3xf32>) -> tensor<2x4x3x3xf32>
    """

    name = "train.local_response_norm"

    x = operand_def(TensorType)
    y = result_def(TensorType)

    @staticmethod
    def infer(x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Types:
        """The type of the operand."""
        _check(x, size)
        return (x,)


@irdl_op_definition
class LocalResponseNormGradOp(LocalResponseNormBase):
    """
    The gradient of the input.

        %dx = train.local_response_norm_grad %dy, %x size 5 : (tensor<2x4x3x3xf32>, tensor<2x4x3x3xf32>)
            -> tensor<2x4x3x3xf32>
    """

    name = "train.local_response_norm_grad"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    dx = result_def(TensorType)

    @staticmethod
    def infer(dy: Tensor, x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Types:
        """dy has x's type."""
        check_type("dy", dy, x)
        _check(x, size)
        return (x,)
