"""
Losses between a prediction and a target of the same type, and their derivatives.

    %l = train.huber_loss %y, %target delta 0.5 reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>

`reduction` reduces the terms of all elements to one value, their mean or their sum. Derivatives carry the same
properties. These losses depend on y - target alone, but for the dot product: the target's derivative is minus y's.
"""

from xdsl.dialects.builtin import AnyFloat, FloatAttr, StringAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.loss import MEAN, check_reduction, scalar
from npuc.dialects.train.rules import check_numbers

_ONE = encode(1.0)


def check_pair(y: Tensor, target: Tensor, reduction: str = "mean") -> None:
    """The rule for operands and reduction: equal types of numbers."""
    if y != target:
        raise VerifyException(f"prediction is {y}, target is {target}: expected equal types")
    check_numbers(y)
    check_reduction(reduction)


def _check_terms(y: Tensor, target: Tensor, reduction: str) -> None:
    """The rule of losses whose terms are integers where y has integers: these have a sum, but no mean."""
    check_pair(y, target, reduction)
    if reduction == "mean" and not isinstance(y.element_type, AnyFloat):
        found = f"elements are {y.element_type}, expected floating point for the mean"
        raise VerifyException(f"{found}: cast them first, or take reduction=sum")


def check_float_pair(y: Tensor, target: Tensor, reduction: str = "mean") -> None:
    """The rule of losses that compute fractions: equal types of floating point."""
    check_pair(y, target, reduction)
    if not isinstance(y.element_type, AnyFloat):
        raise VerifyException(f"prediction and target have element type {y.element_type}, expected a float type")


class PairOp(TrainOp):
    """The operands of losses between a prediction and a target, and of their derivatives."""

    y = operand_def(TensorType)
    target = operand_def(TensorType)
    reduction = prop_def(StringAttr, default_value=MEAN)
    traits = traits_def(Pure())


class PairLossOp(PairOp):
    """Base of the losses."""

    loss = result_def(TensorType)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean") -> Types:
        """Equal types; the mean is of floats."""
        _check_terms(y, target, reduction)
        return (scalar(y),)


class PairGradOp(PairOp):
    """Base of the derivatives that read both operands."""

    out = result_def(TensorType)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean") -> Types:
        """Equal types; the mean is of floats."""
        _check_terms(y, target, reduction)
        return (y,)


@irdl_op_definition
class DotLossOp(TrainOp):
    """
    The sum of y * target. Linear, so that gradients stay integers in tests.

        %loss = train.dot_loss %y, %target : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
    """

    name = "train.dot_loss"

    y = operand_def(TensorType)
    target = operand_def(TensorType)
    loss = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(y: Tensor, target: Tensor) -> Types:
        """Equal types."""
        check_pair(y, target)
        return (scalar(y),)


@irdl_op_definition
class MseOp(PairLossOp):
    """
    The mean of (y - target)^2 over all elements.

        %loss = train.mse %y, %target : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
    """

    name = "train.mse"


@irdl_op_definition
class MseGradOp(PairGradOp):
    """
    2 (y - target) / elements, the derivative with respect to y.

        %dy = train.mse_grad %y, %target : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.mse_grad"


@irdl_op_definition
class L1LossOp(PairLossOp):
    """
    The mean of |y - target| over all elements.

        %loss = train.l1_loss %y, %target : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
    """

    name = "train.l1_loss"


@irdl_op_definition
class L1LossGradOp(PairGradOp):
    """
    The sign of y - target (0 where they are equal) / elements.

        %dy = train.l1_loss_grad %y, %target reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.l1_loss_grad"


def _smooth_l1(y: Tensor, target: Tensor, reduction: str, beta: float) -> None:
    check_float_pair(y, target, reduction)
    if not beta >= 0.0:
        raise VerifyException(f"beta is {beta}, expected at least 0")


@irdl_op_definition
class SmoothL1LossOp(PairLossOp):
    """
    d^2 / (2 beta) where d = |y - target| < beta, else d - beta / 2.

        %loss = train.smooth_l1_loss %y, %target beta 0.5 reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>)
            -> tensor<f32>
    """

    name = "train.smooth_l1_loss"

    beta = prop_def(FloatAttr, default_value=_ONE)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Types:
        """Equal float types; beta at least 0."""
        _smooth_l1(y, target, reduction, beta)
        return (scalar(y),)


@irdl_op_definition
class SmoothL1LossGradOp(PairGradOp):
    """
    (y - target) / beta limited to [-1, 1], over the elements.

        %dy = train.smooth_l1_loss_grad %y, %target beta 0.0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.smooth_l1_loss_grad"

    beta = prop_def(FloatAttr, default_value=_ONE)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Types:
        """Equal float types; beta at least 0."""
        _smooth_l1(y, target, reduction, beta)
        return (y,)


def _huber(y: Tensor, target: Tensor, reduction: str, delta: float) -> None:
    check_float_pair(y, target, reduction)
    if not delta > 0.0:
        raise VerifyException(f"delta is {delta}, expected more than 0")


@irdl_op_definition
class HuberLossOp(PairLossOp):
    """
    d^2 / 2 where d = |y - target| <= delta, else delta (d - delta / 2).

        %loss = train.huber_loss %y, %target delta 0.5 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
    """

    name = "train.huber_loss"

    delta = prop_def(FloatAttr, default_value=_ONE)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Types:
        """Equal float types; delta above 0."""
        _huber(y, target, reduction, delta)
        return (scalar(y),)


@irdl_op_definition
class HuberLossGradOp(PairGradOp):
    """
    y - target limited to [-delta, delta], over the elements.

        %dy = train.huber_loss_grad %y, %target reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>)
            -> tensor<2x3xf32>
    """

    name = "train.huber_loss_grad"

    delta = prop_def(FloatAttr, default_value=_ONE)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Types:
        """Equal float types; delta above 0."""
        _huber(y, target, reduction, delta)
        return (y,)
