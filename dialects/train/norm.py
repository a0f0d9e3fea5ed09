"""
Batch normalisation with its derivatives, the running averages, and what all normalisations share.

The scale and shift are optional operands: none, a scale, or a scale and a shift, in this order.
"""

from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, TensorType
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text, tensor_of
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import as_precise, channel_type, check_float, check_precise, check_type

EPS = encode(1e-5)
"""The number that is added to a variance by default."""


def float_channel_type(x: Tensor) -> Tensor:
    """The type of one value a channel of x [batch, channels, …], which is floating point."""
    check_float(x)
    return channel_type(x)


def last_type(x: Tensor, axes: int) -> Tensor:
    """The type of one value for each position of the last `axes` axes of x, which is floating point."""
    check_float(x)
    rank = len(x.get_shape())
    if not rank:
        raise VerifyException("the input must have rank 1 or more, got a scalar")
    if not 1 <= axes <= rank:
        raise VerifyException(f"the scale has {axes} axes, expected 1 to {rank} for the input {shape_text(x)}")
    return tensor_of(x.element_type, x.get_shape()[rank - axes :])


def rows_type(x: Tensor, axes: int) -> Tensor:
    """The type of one value for each row of x: a position of all but its last `axes` axes."""
    return tensor_of(x.element_type, x.get_shape()[: len(x.get_shape()) - axes])


def check_affine(affine: tuple[Tensor, ...], expected: Tensor) -> None:
    """The rule of the optional scale and shift: at most these two, each of the expected type or more precise."""
    if len(affine) > 2:
        raise VerifyException(f"found {len(affine)} tensors beside the input, expected at most a scale and a shift")
    for what, found in zip(("scale", "shift"), affine, strict=False):
        check_precise(what, found, expected)


def norm_types(x: Tensor, statistic: Tensor, results: Types) -> Types:
    """The results of a normalisation: y like x, the statistics as `statistic`, or more precise where results say so."""
    mean, var = results[1:] if len(results) == 3 else (statistic, statistic)
    return (x, as_precise(mean, statistic), as_precise(var, statistic))


def check_dx(dy: Tensor, x: Tensor, others: tuple[Tensor, ...], scale: Tensor, statistic: Tensor) -> None:
    """The rule of an input's gradient: dy like x, then an optional scale, a mean and a variance."""
    check_type("dy", dy, x)
    if len(others) not in (2, 3):
        raise VerifyException(f"found {len(others)} tensors beside dy and x, expected a mean and a variance")
    *gamma, mean, var = others
    for found in gamma:
        check_precise("scale", found, scale)
    check_precise("mean", mean, statistic)
    check_precise("variance", var, statistic)


def check_dw(dy: Tensor, x: Tensor, mean: Tensor, var: Tensor, statistic: Tensor) -> None:
    """The rule of the gradients of scale and shift: dy like x, then a mean and a variance."""
    check_type("dy", dy, x)
    check_precise("mean", mean, statistic)
    check_precise("variance", var, statistic)


def dw_types(results: Types, parameter: Tensor) -> Types:
    """The results of the gradients of scale and shift: as `parameter`, or as precise as results say."""
    return tuple(as_precise(found, parameter) for found in results)


class NormBase(TrainOp):
    """
    Operands and results of a normalisation: x, scale and shift; y and the statistics it was normalised by.

    Scale, shift and statistics have x's element type or wider floats: a norm of bf16 may keep them in f32.
    """

    MAY_TAKE_RESULT: ClassVar[bool] = True

    x = operand_def(TensorType)
    affine = var_operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=EPS)
    y = result_def(TensorType)
    mean = result_def(TensorType)
    var = result_def(TensorType)
    traits = traits_def(Pure())


class NormBackBase(TrainOp):
    """Operands of a derivative that reads the output's gradient, x, the scale (if there is one) and the statistics."""

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    gamma = opt_operand_def(TensorType)
    mean = operand_def(TensorType)
    var = operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=EPS)
    traits = traits_def(Pure())


class NormDxBase(NormBackBase):
    """Base of the gradients of a normalisation's input."""

    dx = result_def(TensorType)


class NormDwBase(TrainOp):
    """Operands of the gradients of a normalisation's scale and shift; without a shift there is no dbeta."""

    TAKES_RESULT: ClassVar[bool] = True

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    mean = operand_def(TensorType)
    var = operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=EPS)
    dgamma = result_def(TensorType)
    dbeta = opt_result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class BatchNormOp(NormBase):
    """
    Normalise each channel by the statistics of the batch.

    x is [batch, channels, …]; mean and var are the batch's (var divided by the count), one value a channel. Source:
    Ioffe, Szegedy (2015).

        %y, %mean, %var = train.batch_norm %x, %gamma, %beta eps 0.001
            : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
            -> (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
    """

    name = "train.batch_norm"

    @staticmethod
    def infer(x: Tensor, *affine: Tensor, results: Types = (), eps: float = 1e-5) -> Types:
        """Scale and shift have one value a channel."""
        channel = float_channel_type(x)
        check_affine(affine, channel)
        return norm_types(x, channel, results)


@irdl_op_definition
class BatchNormDxOp(NormDxBase):
    """
    The gradient of batch normalisation's input.

        %dx = train.batch_norm_dx %dy, %x, %gamma, %mean, %var
            : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
            -> tensor<2x4x8x8xf32>
    """

    name = "train.batch_norm_dx"

    @staticmethod
    def infer(dy: Tensor, x: Tensor, *others: Tensor, eps: float = 1e-5) -> Types:
        """dy has x's type, the others one value a channel."""
        channel = float_channel_type(x)
        check_dx(dy, x, others, channel, channel)
        return (x,)


@irdl_op_definition
class BatchNormDxFromSumsOp(TrainOp):
    """
    The gradient of the input by the gradients of the parameters, which are the sums that it needs.

        %dx = train.batch_norm_dx_from_sums %dy, %x, %gamma, %mean, %var, %dgamma, %dbeta eps 0.5
            : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
            tensor<4xf32>) -> tensor<2x4x8x8xf32>
    """

    name = "train.batch_norm_dx_from_sums"

    dy = operand_def(TensorType)
    x = operand_def(TensorType)
    gamma = operand_def(TensorType)
    mean = operand_def(TensorType)
    var = operand_def(TensorType)
    dgamma = operand_def(TensorType)
    dbeta = operand_def(TensorType)
    eps = prop_def(FloatAttr, default_value=EPS)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        dy: Tensor,
        x: Tensor,
        gamma: Tensor,
        mean: Tensor,
        var: Tensor,
        dgamma: Tensor,
        dbeta: Tensor,
        eps: float = 1e-5,
    ) -> Types:
        """dy has x's type, the others one value a channel, which may be more precise."""
        channel = float_channel_type(x)
        check_dx(dy, x, (gamma, mean, var), channel, channel)
        check_precise("gradient of the scale", dgamma, channel)
        check_precise("gradient of the shift", dbeta, channel)
        return (x,)


@irdl_op_definition
class BatchNormDwOp(NormDwBase):
    """
    The gradients of batch normalisation's parameters.

        %dgamma, %dbeta = train.batch_norm_dw %dy, %x, %mean, %var
            : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>)
            -> (tensor<4xf32>, tensor<4xf32>)
    """

    name = "train.batch_norm_dw"

    @staticmethod
    def infer(dy: Tensor, x: Tensor, mean: Tensor, var: Tensor, results: Types, eps: float = 1e-5) -> Types:
        """dy has x's type, the statistics one value a channel."""
        channel = float_channel_type(x)
        check_dw(dy, x, mean, var, channel)
        return dw_types(results, channel)


@irdl_op_definition
class EmaOp(TrainOp):
    """
    (1 - momentum) running + momentum scale new.

    `momentum` is the weight of the new value, as in PyTorch; `scale` turns the batch's variance into the unbiased one.

        %y = train.ema %running, %new momentum 0.01 scale 1.5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    """

    name = "train.ema"

    running = operand_def(TensorType)
    new = operand_def(TensorType)
    momentum = prop_def(FloatAttr, default_value=encode(0.1))
    scale = prop_def(FloatAttr, default_value=encode(1.0))
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(running: Tensor, new: Tensor, momentum: float = 0.1, scale: float = 1.0) -> Types:
        """Equal shapes."""
        if running.get_shape() != new.get_shape():
            raise VerifyException(f"running is {shape_text(running)}, new {shape_text(new)}")
        return (running,)
