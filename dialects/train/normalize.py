"""
Statistics of channels, and normalisation by given statistics.

Together they are batch normalisation in steps that can be split along the batch:

    %mean = train.channel_mean %x
    %var = train.channel_var %x, %mean
    %y = train.normalize %x, %gamma, %beta, %mean, %var
"""

from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.norm import EPS, NormBackBase, check_affine, check_dx, float_channel_type
from npuc.dialects.train.rules import as_precise, check_precise


@irdl_op_definition
class ChannelMeanOp(TrainOp):
    """
    The mean of each channel of [batch, channels, …].

    It has x's element type, or wider floats where the result says so.

        %mean = train.channel_mean %x : (tensor<2x4x3xf32>) -> tensor<4xf32>
    """

    name = "train.channel_mean"
    MAY_TAKE_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    mean = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, results: Types = ()) -> Types:
        """One value a channel."""
        channel = float_channel_type(x)
        return (as_precise(results[0], channel) if results else channel,)


@irdl_op_definition
class ChannelVarOp(TrainOp):
    """
    The mean of (x - mean)^2 of each channel.

    That is the variance, divided by the count, if `mean` is the mean of x; for a part of x it may be that of the whole.

        %var = train.channel_var %x, %mean : (tensor<2x4x3xf32>, tensor<4xf32>) -> tensor<4xf32>
    """

    name = "train.channel_var"

    x = operand_def(TensorType)
    mean = operand_def(TensorType)
    var = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, mean: Tensor) -> Types:
        """One value a channel, as precise as the mean."""
        check_precise("mean", mean, float_channel_type(x))
        return (mean,)


@irdl_op_definition
class ChannelVarDxOp(TrainOp):
    """
    The gradient of x, 2 (x - mean) / n dvar.

        %dx = train.channel_var_dx %dvar, %x, %mean : (tensor<4xf32>, tensor<2x4x3xf32>, tensor<4xf32>)
            -> tensor<2x4x3xf32>
    """

    name = "train.channel_var_dx"

    dvar = operand_def(TensorType)
    x = operand_def(TensorType)
    mean = operand_def(TensorType)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dvar: Tensor, x: Tensor, mean: Tensor) -> Types:
        """The type of x; the others have one value a channel."""
        channel = float_channel_type(x)
        check_precise("dvar", dvar, channel)
        check_precise("mean", mean, channel)
        return (x,)


@irdl_op_definition
class NormalizeOp(TrainOp):
    """
    Batch normalisation by given statistics, as in inference.

    Scale and shift may be left out, both.

        %y = train.normalize %x, %gamma, %beta, %mean, %var
            : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
    """

    name = "train.normalize"

    x = operand_def(TensorType)
    affine = var_operand_def(TensorType)
    mean = operand_def(TensorType)
    var = operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=EPS)
    y = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, *others: Tensor, eps: float = 1e-5) -> Types:
        """All but x have one value a channel."""
        channel = float_channel_type(x)
        if len(others) < 2:
            raise VerifyException(f"found {len(others)} tensors beside the input, expected a mean and a variance")
        *affine, mean, var = others
        check_affine(tuple(affine), channel)
        check_precise("mean", mean, channel)
        check_precise("variance", var, channel)
        return (x,)


@irdl_op_definition
class NormalizeDxOp(TrainOp):
    """
    The gradient of the input by given statistics; gamma if there is one.

        %dx = train.normalize_dx %dy, %gamma, %var eps 0.5 : (tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>)
            -> tensor<2x4x3xf32>
    """

    name = "train.normalize_dx"

    dy = operand_def(TensorType)
    gamma = opt_operand_def(TensorType)
    var = operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=EPS)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, *others: Tensor, eps: float = 1e-5) -> Types:
        """The type of dy; the others have one value a channel."""
        channel = float_channel_type(dy)
        if len(others) not in (1, 2):
            raise VerifyException(f"found {len(others)} tensors beside dy, expected a variance and at most a scale")
        *gamma, var = others
        check_affine(tuple(gamma), channel)
        check_precise("variance", var, channel)
        return (dy,)


@irdl_op_definition
class NormalizeDstatsOp(NormBackBase):
    """
    The gradients of given statistics.

        %dmean, %dvar = train.normalize_dstats %dy, %x, %gamma, %mean, %var
            : (tensor<2x4x3xf32>, tensor<2x4x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
            -> (tensor<4xf32>, tensor<4xf32>)
    """

    name = "train.normalize_dstats"

    dmean = result_def(TensorType)
    dvar = result_def(TensorType)

    @staticmethod
    def infer(dy: Tensor, x: Tensor, *others: Tensor, eps: float = 1e-5) -> Types:
        """As the statistics, one value a channel; dy has x's type."""
        channel = float_channel_type(x)
        check_dx(dy, x, others, channel, channel)
        return (others[-2], others[-1])
