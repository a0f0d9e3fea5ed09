"""Updates of optimizers. Each returns the new values of the operands that it updates, in their order."""

from xdsl.dialects.builtin import FloatAttr, TensorType, UnitAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, shape_text
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.rules import check_scalar

ZERO = encode(0.0)


def check_like(param: Tensor, *others: Tensor) -> None:
    """The rule for gradients and states: the parameter's shape."""
    for other in others:
        if other.get_shape() != param.get_shape():
            raise VerifyException(f"the parameter is {shape_text(param)}, its gradient or state {shape_text(other)}")


def check_betas(**betas: float) -> None:
    """The rule for the weights of running means."""
    for name, beta in betas.items():
        if not 0.0 <= beta < 1.0:
            raise VerifyException(f"{name} is {beta}, expected at least 0 and below 1")


@irdl_op_definition
class SgdOp(TrainOp):
    """
    v1 = momentum v + g, w1 = w - lr v1 with g = dw + weight_decay w.

    Without momentum there is no v, and w1 = w - lr g. With `dampening` v1 = momentum v + (1 - dampening) g but for the
    first step, where v1 = g; the step count is then the last operand. With `nesterov` w1 = w - lr (g + momentum v1).
    Source: PyTorch's SGD.

        %w1, %v1 = train.sgd %w, %dw, %v lr 0.1 momentum 0.9 weight_decay 0.0001
            : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.sgd"

    param = operand_def(TensorType)
    grad = operand_def(TensorType)
    state = var_operand_def(TensorType)
    lr = prop_def(FloatAttr)
    momentum = prop_def(FloatAttr, default_value=ZERO)
    weight_decay = prop_def(FloatAttr, default_value=ZERO)
    dampening = prop_def(FloatAttr, default_value=ZERO)
    nesterov = opt_prop_def(UnitAttr)
    new_param = result_def(TensorType)
    new_velocity = var_result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        param: Tensor,
        grad: Tensor,
        *state: Tensor,
        lr: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        dampening: float = 0.0,
        nesterov: bool = False,
    ) -> Types:
        """Equal shapes; a velocity if and only if there is momentum, a step if it is dampened too."""
        if nesterov and (momentum == 0.0 or dampening != 0.0):
            raise VerifyException(f"nesterov needs a momentum and no dampening, got {momentum} and {dampening}")
        velocity = state
        if momentum != 0.0 and dampening != 0.0:
            if len(state) != 2:
                raise VerifyException(f"momentum is {momentum}, dampened, with {len(state)} of velocity and step")
            velocity = state[:1]
            check_scalar("step", state[1])
        check_like(param, grad, *velocity)
        if len(velocity) != (momentum != 0.0):
            raise VerifyException(f"momentum is {momentum}, with {len(velocity)} velocities")
        return (param, *velocity)


class AdamBase(TrainOp):
    """
    The operands and hyperparameters that adam and adamw share.

    With `amsgrad` there is one more state in front of the step, the largest `square` so far.
    """

    param = operand_def(TensorType)
    grad = operand_def(TensorType)
    mean = operand_def(TensorType)
    square = operand_def(TensorType)
    largest = opt_operand_def(TensorType)
    step = operand_def(TensorType)
    lr = prop_def(FloatAttr)
    beta1 = prop_def(FloatAttr, default_value=encode(0.9))
    beta2 = prop_def(FloatAttr, default_value=encode(0.999))
    eps = prop_def(FloatAttr, default_value=encode(1e-8))
    weight_decay = prop_def(FloatAttr, default_value=ZERO)
    amsgrad = opt_prop_def(UnitAttr)
    new_param = result_def(TensorType)
    new_mean = result_def(TensorType)
    new_square = result_def(TensorType)
    new_largest = opt_result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        param: Tensor,
        grad: Tensor,
        mean: Tensor,
        square: Tensor,
        *rest: Tensor,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
    ) -> Types:
        """Equal shapes, a scalar step; both betas at least 0 and below 1."""
        if len(rest) != 1 + amsgrad:
            wanted = "the largest square and the step" if amsgrad else "the step"
            raise VerifyException(f"found {len(rest)} operands behind the squares, expected {wanted}")
        *largest, step = rest
        check_like(param, grad, mean, square, *largest)
        check_scalar("step", step)
        check_betas(beta1=beta1, beta2=beta2)
        return (param, mean, square, *largest)


@irdl_op_definition
class AdamOp(AdamBase):
    """
    Adam (Kingma, Ba 2015) with bias correction.

    m1 = beta1 m + (1 - beta1) g, s1 = beta2 s + (1 - beta2) g^2, w1 = w - lr m1/(1 - beta1^t) / (sqrt(s1/(1 -
    beta2^t)) + eps), g = dw + weight_decay w, t = step + 1. With `amsgrad` (Reddi, Kale, Kumar 2018) the largest s1 so
    far takes the place of s1 in w1: `%w1, %m1, %s1, %l1 = train.adam %w, %dw, %m, %s, %l, %step lr 0.001 amsgrad`.

        %w1, %m1, %s1 = train.adam %w, %dw, %m, %s, %step lr 0.001
            : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>)
            -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.adam"


@irdl_op_definition
class AdamwOp(AdamBase):
    """
    Adam on w - lr weight_decay w, g = dw (Loshchilov, Hutter 2019).

        %w1, %m1, %s1 = train.adamw %w, %dw, %m, %s, %step lr 0.001 beta1 0.5 beta2 0.75 eps 1.0e-06 weight_decay 0.01
            : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>)
            -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.adamw"


@irdl_op_definition
class IncrementOp(TrainOp):
    """
    step + 1.

        %y = train.increment %step : (tensor<i64>) -> tensor<i64>
    """

    name = "train.increment"

    step = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(step: Tensor) -> Types:
        """The type of the operand."""
        return (step,)
