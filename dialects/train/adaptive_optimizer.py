"""
Updates of adaptive optimizers, with a step size per element: RMSprop, Adagrad, Adadelta, Adamax, NAdam, LAMB, Lion.

    %w1, %s1 = train.rmsprop %w, %dw, %s lr 0.01 : …

Operands are the parameter, its gradient, its states and, where the formula needs it, the step count; results are the
new parameter and states. g = dw + weight_decay w, t = step + 1. Source of all but LAMB and Lion: PyTorch's optimizers.
"""

from typing import ClassVar

from xdsl.dialects.builtin import FloatAttr, TensorType, UnitAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.optimizer import ZERO, check_betas, check_like
from npuc.dialects.train.rules import check_scalar


class UpdateOp(TrainOp):
    """The operands and results of an update."""

    param = operand_def(TensorType)
    grad = operand_def(TensorType)
    state = var_operand_def(TensorType)
    lr = prop_def(FloatAttr)
    weight_decay = prop_def(FloatAttr, default_value=ZERO)
    new_param = result_def(TensorType)
    new_state = var_result_def(TensorType)
    traits = traits_def(Pure())


def _updated(param: Tensor, grad: Tensor, state: tuple[Tensor, ...], *names: str) -> Types:
    """The result types of an update with states of the given names, the last of which may be the step."""
    if len(state) != len(names):
        raise VerifyException(f"found {len(state)} states, expected {len(names)}: {', '.join(names)}")
    counted = names[-1] == "step"
    if counted:
        check_scalar("step", state[-1])
    kept = state[:-1] if counted else state
    check_like(param, grad, *kept)
    return (param, *kept)


@irdl_op_definition
class RmspropOp(UpdateOp):
    """
    s1 = alpha s + (1 - alpha) g^2, u = g / (sqrt(s1) + eps).

    w1 = w - lr u. With `centered` a state a follows, a1 = alpha a + (1 - alpha) g, and s1 - a1^2 is the square. With
    `momentum` the last state is v, and w1 = w - lr v1 with v1 = momentum v + u. Source: Hinton's lecture 6e (2012).

        %w1, %s1 = train.rmsprop %w, %dw, %s lr 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
            -> (tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.rmsprop"

    alpha = prop_def(FloatAttr, default_value=encode(0.99))
    eps = prop_def(FloatAttr, default_value=encode(1e-8))
    momentum = prop_def(FloatAttr, default_value=ZERO)
    centered = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(
        param: Tensor,
        grad: Tensor,
        *state: Tensor,
        lr: float,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> Types:
        """Equal shapes."""
        names = ["square", *(["mean"] if centered else []), *(["momentum"] if momentum else [])]
        return _updated(param, grad, state, *names)


@irdl_op_definition
class AdagradOp(UpdateOp):
    """
    s1 = s + g^2, w1 = w - lr g / (sqrt(s1) + eps).

    With `lr_decay` the step count is the last operand, and the rate lr / (1 + step lr_decay). Source: Duchi, Hazan,
    Singer 2011.

        %w1, %s1 = train.adagrad %w, %dw, %s lr 0.01 : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
            -> (tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.adagrad"

    lr_decay = prop_def(FloatAttr, default_value=ZERO)
    eps = prop_def(FloatAttr, default_value=encode(1e-10))

    @staticmethod
    def infer(
        param: Tensor,
        grad: Tensor,
        *state: Tensor,
        lr: float,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        eps: float = 1e-10,
    ) -> Types:
        """Equal shapes."""
        return _updated(param, grad, state, "sum", *(["step"] if lr_decay else []))


@irdl_op_definition
class AdadeltaOp(UpdateOp):
    """
    The step is sqrt(d + eps) / sqrt(s1 + eps) g.

    s1 = rho s + (1 - rho) g^2, u = that step, d1 = rho d + (1 - rho) u^2, w1 = w - lr u. Source: Zeiler 2012.

        %w1, %s1, %d1 = train.adadelta %w, %dw, %s, %d rho 0.5 eps 1.0e-05 lr 1.0
            : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
            -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.adadelta"

    rho = prop_def(FloatAttr, default_value=encode(0.9))
    eps = prop_def(FloatAttr, default_value=encode(1e-6))

    @staticmethod
    def infer(
        param: Tensor,
        grad: Tensor,
        *state: Tensor,
        lr: float,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ) -> Types:
        """Equal shapes; rho from 0 to 1."""
        if not 0.0 <= rho <= 1.0:
            raise VerifyException(f"rho is {rho}, expected 0 to 1")
        return _updated(param, grad, state, "square", "delta")


class BetasOp(UpdateOp):
    """An update with two running means, of the gradient and of a measure of its size, which `SECOND` names."""

    SECOND: ClassVar[str] = "square"

    beta1 = prop_def(FloatAttr, default_value=encode(0.9))
    beta2 = prop_def(FloatAttr, default_value=encode(0.999))
    eps = prop_def(FloatAttr, default_value=encode(1e-8))

    @classmethod
    def infer(
        cls,
        param: Tensor,
        grad: Tensor,
        *state: Tensor,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        **more: float,
    ) -> Types:
        """Equal shapes, a scalar step; both betas at least 0 and below 1."""
        check_betas(beta1=beta1, beta2=beta2)
        return _updated(param, grad, state, "mean", cls.SECOND, "step")


@irdl_op_definition
class AdamaxOp(BetasOp):
    """
    w1 = w - lr / (1 - beta1^t) m1 / n1.

    m1 = beta1 m + (1 - beta1) g, n1 = max(beta2 n, |g| + eps). Source: Kingma, Ba 2015, section 7.

        %w1, %m1, %n1 = train.adamax %w, %dw, %m, %n, %step beta1 0.5 beta2 0.75 eps 0.001 lr 0.002
            : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>)
            -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.adamax"
    SECOND: ClassVar[str] = "norm"


@irdl_op_definition
class NadamOp(BetasOp):
    """
    Adam with Nesterov momentum (Dozat 2016).

    m1 = beta1 m + (1 - beta1) g, s1 = beta2 s + (1 - beta2) g^2, w1 = w - lr ((1 - c(t)) g / (1 - p(t)) + c(t + 1) m1 /
    (1 - p(t + 1))) / (sqrt(s1 / (1 - beta2^t)) + eps) with c(i) = beta1 (1 - 0.96^(i momentum_decay) / 2) and p(t) the
    product of c(1) to c(t). With `decoupled_weight_decay` g = dw, and w is first multiplied by 1 - lr weight_decay.

        %w1, %m1, %s1 = train.nadam %w, %dw, %m, %s, %step lr 0.5
            : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i32>)
            -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    """

    name = "train.nadam"

    momentum_decay = prop_def(FloatAttr, default_value=encode(4e-3))
    decoupled_weight_decay = opt_prop_def(UnitAttr)


@irdl_op_definition
class LambOp(BetasOp):
    """
    Adam's step, scaled to the size of the parameter.

    u = m1 / (1 - beta1^t) / (sqrt(s1 / (1 - beta2^t)) + eps) + weight_decay w with m1, s1 of dw as in Adam, w1 = w - lr
    r u, r = |w| / |u| over the whole tensor, 1 if one of the norms is 0. Source: You et al. 2020, algorithm 2.

        %w1, %m1, %s1 = train.lamb %w, %dw, %m, %s, %step beta2 0.5 lr 0.002 weight_decay 0.5
            : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>)
            -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.lamb"


@irdl_op_definition
class LionOp(UpdateOp):
    """
    w1 = w - lr (sign(beta1 m + (1 - beta1) dw) + weight_decay w).

    m1 = beta2 m + (1 - beta2) dw. Source: X. Chen et al. 2023, algorithm 2.

        %w1, %m1 = train.lion %w, %dw, %m beta1 0.5 beta2 0.75 lr 0.002 weight_decay 0.5
            : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.lion"

    beta1 = prop_def(FloatAttr, default_value=encode(0.9))
    beta2 = prop_def(FloatAttr, default_value=encode(0.99))

    @staticmethod
    def infer(
        param: Tensor,
        grad: Tensor,
        *state: Tensor,
        lr: float,
        beta1: float = 0.9,
        beta2: float = 0.99,
        weight_decay: float = 0.0,
    ) -> Types:
        """Equal shapes; both betas at least 0 and below 1."""
        check_betas(beta1=beta1, beta2=beta2)
        return _updated(param, grad, state, "mean")
