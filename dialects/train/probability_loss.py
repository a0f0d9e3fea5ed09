"""
Losses between predicted and target probabilities, and their derivatives with respect to either.

    %l = train.kl_div %y, %target reduction "batchmean" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>

`reduction` reduces the terms of all elements to one value: their mean, their sum or (kl_div) "batchmean", the sum over
the size of the first axis. Derivatives carry the same properties; `…_target_grad` is with respect to the target.
"""

from xdsl.dialects.builtin import FloatAttr, StringAttr, TensorType, UnitAttr
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types, encode
from npuc.dialects.train.loss import MEAN, REDUCTIONS, check_reduction, scalar
from npuc.dialects.train.pair_loss import PairGradOp, PairLossOp, check_float_pair

KL_REDUCTIONS = (*REDUCTIONS, "batchmean")
_ONE = encode(1.0)


class OneOperandGradOp(TrainOp):
    """Base of the derivatives that read only one of the operands, `x`."""

    x = operand_def(TensorType)
    reduction = prop_def(StringAttr, default_value=MEAN)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, reduction: str = "mean") -> Types:
        """The type of the operand."""
        check_float_pair(x, x, reduction)
        return (x,)


@irdl_op_definition
class BinaryCrossEntropyOp(PairLossOp):
    """
    Mean of -(target log y + (1 - target) log(1 - y)), 0 <= y <= 1.

    Logarithms below -100 count as -100, as in PyTorch.

        %loss = train.binary_cross_entropy %y, %target : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
    """

    name = "train.binary_cross_entropy"

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean") -> Types:
        """Equal float types."""
        check_float_pair(y, target, reduction)
        return (scalar(y),)


@irdl_op_definition
class BinaryCrossEntropyGradOp(PairGradOp):
    """
    (y - target) / max(y (1 - y), 1e-12), over the elements.

        %dy = train.binary_cross_entropy_grad %y, %target reduction "sum" : (tensor<2x3xf32>, tensor<2x3xf32>)
            -> tensor<2x3xf32>
    """

    name = "train.binary_cross_entropy_grad"


@irdl_op_definition
class BinaryCrossEntropyTargetGradOp(OneOperandGradOp):
    """
    log(1 - y) - log y, over the elements.

        %dtarget = train.binary_cross_entropy_target_grad %y : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.binary_cross_entropy_target_grad"


def _check_pos_weight(pos_weight: float) -> None:
    if not pos_weight >= 0.0:
        raise VerifyException(f"pos_weight is {pos_weight}, expected at least 0")


@irdl_op_definition
class LogitsLossOp(PairLossOp):
    """
    Binary cross entropy of sigmoid(y).

    The term of an element is (1 - target) y + (1 + (pos_weight - 1) target) log(1 + exp(-y)).

        %loss = train.binary_cross_entropy_with_logits %y, %target pos_weight 2.5 reduction "sum"
            : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<f32>
    """

    name = "train.binary_cross_entropy_with_logits"

    pos_weight = prop_def(FloatAttr, default_value=_ONE)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean", pos_weight: float = 1.0) -> Types:
        """Equal float types."""
        check_float_pair(y, target, reduction)
        _check_pos_weight(pos_weight)
        return (scalar(y),)


@irdl_op_definition
class LogitsLossGradOp(PairGradOp):
    """
    sigmoid(y) - target, over the elements.

    With a weight it is (1 - target) sigmoid(y) - pos_weight target sigmoid(-y).

        %dy = train.binary_cross_entropy_with_logits_grad %y, %target pos_weight 2.5
            : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.binary_cross_entropy_with_logits_grad"

    pos_weight = prop_def(FloatAttr, default_value=_ONE)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean", pos_weight: float = 1.0) -> Types:
        """Equal float types."""
        check_float_pair(y, target, reduction)
        _check_pos_weight(pos_weight)
        return (y,)


@irdl_op_definition
class LogitsLossTargetGradOp(OneOperandGradOp):
    """
    (pos_weight - 1) log(1 + exp(-y)) - y, over the elements.

        %dtarget = train.binary_cross_entropy_with_logits_target_grad %y reduction "sum" : (tensor<2x3xf32>)
            -> tensor<2x3xf32>
    """

    name = "train.binary_cross_entropy_with_logits_target_grad"

    pos_weight = prop_def(FloatAttr, default_value=_ONE)

    @staticmethod
    def infer(x: Tensor, reduction: str = "mean", pos_weight: float = 1.0) -> Types:
        """The type of the operand."""
        check_float_pair(x, x, reduction)
        _check_pos_weight(pos_weight)
        return (x,)


def _check_kl(y: Tensor, target: Tensor, reduction: str) -> None:
    check_float_pair(y, target)
    check_reduction(reduction, KL_REDUCTIONS)
    if reduction == "batchmean" and not y.get_shape():
        raise VerifyException("reduction 'batchmean' needs a first axis, the prediction is a scalar")


@irdl_op_definition
class KlDivOp(PairLossOp):
    """
    Mean of target (log target - y), y being logarithms of probabilities.

    `log_target` says that the target holds logarithms too. Source: PyTorch's kl_div.

        %loss = train.kl_div %y, %target log_target reduction "batchmean" : (tensor<2x3xf32>, tensor<2x3xf32>)
            -> tensor<f32>
    """

    name = "train.kl_div"

    log_target = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Types:
        """Equal float types."""
        _check_kl(y, target, reduction)
        return (scalar(y),)


@irdl_op_definition
class KlDivGradOp(OneOperandGradOp):
    """
    -target, or -exp(target) with `log_target`, over the elements.

        %dy = train.kl_div_grad %target log_target : (tensor<2x3xf32>) -> tensor<2x3xf32>
    """

    name = "train.kl_div_grad"

    log_target = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(x: Tensor, reduction: str = "mean", log_target: bool = False) -> Types:
        """The type of the operand."""
        _check_kl(x, x, reduction)
        return (x,)


@irdl_op_definition
class KlDivTargetGradOp(PairGradOp):
    """
    log target + 1 - y, over the elements.

    With `log_target` it is exp(target) (target + 1 - y).

        %dtarget = train.kl_div_target_grad %y, %target reduction "batchmean" : (tensor<2x3xf32>, tensor<2x3xf32>)
            -> tensor<2x3xf32>
    """

    name = "train.kl_div_target_grad"

    log_target = opt_prop_def(UnitAttr)

    @staticmethod
    def infer(y: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Types:
        """Equal float types."""
        _check_kl(y, target, reduction)
        return (y,)
