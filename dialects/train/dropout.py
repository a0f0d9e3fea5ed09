"""Dropout."""

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_scalar


@irdl_op_definition
class DropoutOp(TrainOp):
    """
    `train.dropout %x, %step p 0.1 seed 3`: x / (1 - p) where a random mask keeps it, else 0.

    The mask is a function of seed and step alone, so the same operation on the gradient is the derivative.
    Source: Srivastava et al. (2014).
    """

    name = "train.dropout"

    x = operand_def(TensorType)
    step = operand_def(TensorType)
    p = prop_def(FloatAttr)
    seed = prop_def(IntegerAttr)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor, step: Tensor, p: float, seed: int) -> Types:
        """0 <= p < 1; step is a scalar."""
        if not 0.0 <= p < 1.0:
            raise VerifyException(f"p is {p}, expected at least 0 and below 1")
        check_scalar("step", step)
        return (x,)
