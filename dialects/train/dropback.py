"""
DropBack: of the weights of a parameter only a share differs from where they started, those that moved furthest.

Sources: Golub, Lemieux, Lis, "Full deep neural network training on a pruned weight budget", MLSys 2019 (DropBack);
decay of initial values and a threshold that is followed in place of a sort: Yang et al., "Procrustes: a dataflow and
accelerator for sparse deep neural network training", MICRO 2020, arXiv 2009.10976.
"""

from xdsl.dialects.builtin import FloatAttr, StringAttr, TensorType, UnitAttr
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
from npuc.dialects.train.optimizer import ZERO, check_like
from npuc.dialects.train.rules import check_scalar


@irdl_op_definition
class DropbackOp(TrainOp):
    """
    A step of SGD, after which all but ceil(keep n) of the n elements are d w0 again, d = decay^t and t = step + 1.

    u = w - lr v1 with v1 = momentum v + dw (dw itself without momentum), and those elements stay u of which |u - d w0|
    is largest; of equal ones the first in the tensor. With decay 1 pruned weights are their initial values w0, below 1
    they become zero. The states are v, where there is momentum; w0, which the first step (step 0) sets to w; and with
    `quantile` a threshold h in place of the sort: an element stays if its size is above h, and h is multiplied by 1 +
    rate (1 - keep) if so, else by 1 - rate keep, element by element; at first it is the first size that is not 0. With
    `regenerate` there is no w0: it is drawn from `seed` and `start`, uniform in [-bound, bound], or it is `fill`; in
    the first step w must be that.

        %w1, %w0_1 = train.dropback %w, %dw, %w0, %step lr 0.1 keep 0.25
            : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<i64>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
    """

    name = "train.dropback"

    param = operand_def(TensorType)
    grad = operand_def(TensorType)
    state = var_operand_def(TensorType)
    lr = prop_def(FloatAttr)
    momentum = prop_def(FloatAttr, default_value=ZERO)
    keep = prop_def(FloatAttr, default_value=encode(0.1))
    decay = prop_def(FloatAttr, default_value=encode(1.0))
    quantile = opt_prop_def(UnitAttr)
    rate = prop_def(FloatAttr, default_value=encode(1e-3))
    regenerate = opt_prop_def(UnitAttr)
    seed = prop_def(FloatAttr, default_value=ZERO)
    start = prop_def(StringAttr, default_value=encode(""))
    bound = prop_def(FloatAttr, default_value=ZERO)
    fill = prop_def(FloatAttr, default_value=ZERO)
    new_param = result_def(TensorType)
    new_state = var_result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(
        param: Tensor,
        grad: Tensor,
        *state: Tensor,
        lr: float,
        momentum: float = 0.0,
        keep: float = 0.1,
        decay: float = 1.0,
        quantile: bool = False,
        rate: float = 1e-3,
        regenerate: bool = False,
        seed: float = 0.0,
        start: str = "",
        bound: float = 0.0,
        fill: float = 0.0,
    ) -> Types:
        """Equal shapes, a scalar threshold and step; shares from 0 to 1, of which some are kept."""
        names = [*(["velocity"] if momentum else []), *([] if regenerate else ["initial"])]
        wanted = [*names, *(["threshold"] if quantile else []), "step"]
        if len(state) != len(wanted):
            raise VerifyException(f"found {len(state)} states, expected {len(wanted)}: {', '.join(wanted)}")
        check_like(param, grad, *state[: len(names)])
        for name, scalar in zip(wanted[len(names) :], state[len(names) :], strict=True):
            check_scalar(name, scalar)
        if not 0.0 < keep <= 1.0:
            raise VerifyException(f"keep is {keep}, expected above 0 and at most 1")
        if not 0.0 <= decay <= 1.0:
            raise VerifyException(f"decay is {decay}, expected 0 to 1")
        if not 0.0 < rate < 1.0:
            raise VerifyException(f"rate is {rate}, expected above 0 and below 1")
        if seed < 0.0 or seed != int(seed):
            raise VerifyException(f"seed is {seed}, expected a whole number of at least 0")
        return (param, *state[:-1])
