"""The base of elementwise functions of one tensor."""

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types
from npuc.dialects.train.rules import check_float, check_numbers, same_type


class UnaryOp(TrainOp):
    """Base of the elementwise functions of one tensor of numbers."""

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor) -> Types:
        """The type of the operand, not bool."""
        check_numbers(x)
        return (x,)


class FloatUnaryOp(UnaryOp):
    """Base of the elementwise functions of one floating-point tensor."""

    @staticmethod
    def infer(x: Tensor) -> Types:
        """The type of the operand, which is floating point."""
        check_float(x)
        return (x,)


class UnaryGradOp(TrainOp):
    """Base of the derivatives of elementwise functions: from the output's gradient and the saved input or output."""

    dy = operand_def(TensorType)
    saved = operand_def(TensorType)
    dx = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(dy: Tensor, saved: Tensor) -> Types:
        """Both operands have the result's type."""
        return same_type(dy, saved)
