"""Group normalisation with its derivatives; with one channel a group it is instance normalisation."""

from xdsl.dialects.builtin import IntegerAttr
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, tensor_of
from npuc.dialects.train.base import Types, encode
from npuc.dialects.train.norm import (
    NormBase,
    NormDwBase,
    NormDxBase,
    check_affine,
    check_dw,
    check_dx,
    dw_types,
    float_channel_type,
    norm_types,
)

_ONE = encode(1)


def _group_type(x: Tensor, groups: int) -> Tensor:
    """The type of one value for each image and group."""
    (channels,) = float_channel_type(x).get_shape()
    if groups < 1 or channels % groups:
        raise VerifyException(f"groups is {groups}, expected a divisor of {channels} channels")
    return tensor_of(x.element_type, (x.get_shape()[0], groups))


@irdl_op_definition
class GroupNormOp(NormBase):
    """
    Normalise each group of channels of each image.

    x is [batch, channels, …]; a group is channels / groups neighbouring channels. Mean and var are [batch, groups];
    the scale and shift, one value a channel, may be left out. Source: Wu, He (2018).

        %y, %mean, %var = train.group_norm %x, %gamma, %beta groups 2
            : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>)
            -> (tensor<2x4x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
    """

    name = "train.group_norm"

    groups = prop_def(IntegerAttr, default_value=_ONE)

    @staticmethod
    def infer(x: Tensor, *affine: Tensor, results: Types = (), groups: int = 1, eps: float = 1e-5) -> Types:
        """Scale and shift have one value a channel."""
        statistic = _group_type(x, groups)
        check_affine(affine, float_channel_type(x))
        return norm_types(x, statistic, results)


@irdl_op_definition
class GroupNormDxOp(NormDxBase):
    """
    The gradient of group normalisation's input.

        %dx = train.group_norm_dx %dy, %x, %gamma, %mean, %var groups 2
            : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
            -> tensor<2x4x3xf32>
    """

    name = "train.group_norm_dx"

    groups = prop_def(IntegerAttr, default_value=_ONE)

    @staticmethod
    def infer(dy: Tensor, x: Tensor, *others: Tensor, groups: int = 1, eps: float = 1e-5) -> Types:
        """dy has x's type, gamma one value a channel, the statistics one for each image and group."""
        check_dx(dy, x, others, float_channel_type(x), _group_type(x, groups))
        return (x,)


@irdl_op_definition
class GroupNormDwOp(NormDwBase):
    """
    The gradients of scale and shift.

        %dgamma, %dbeta = train.group_norm_dw %dy, %x, %mean, %var groups 2
            : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<2x2xf32>, tensor<2x2xf32>)
            -> (tensor<4xf32>, tensor<4xf32>)
    """

    name = "train.group_norm_dw"

    groups = prop_def(IntegerAttr, default_value=_ONE)

    @staticmethod
    def infer(
        dy: Tensor,
        x: Tensor,
        mean: Tensor,
        var: Tensor,
        results: Types,
        groups: int = 1,
        eps: float = 1e-5,
    ) -> Types:
        """dy has x's type, the statistics one value for each image and group."""
        check_dw(dy, x, mean, var, _group_type(x, groups))
        return dw_types(results, float_channel_type(x))
