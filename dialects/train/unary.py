"""What the elementwise functions of one tensor have in common."""

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor
from npuc.dialects.train.base import TrainOp, Types, shape_text


def same_type(a: Tensor, b: Tensor) -> Types:
    """The rule for two operands of the type of the result."""
    if a != b:
        raise VerifyException(f"operands differ: {shape_text(a)} {a.element_type} and {shape_text(b)} {b.element_type}")
    return (a,)


def expect_float(x: Tensor) -> None:
    """The rule for what only has a meaning on floating-point elements."""
    if not isinstance(x.element_type, AnyFloat):
        raise VerifyException(f"elements are {x.element_type}, expected floating point: cast them first")


class UnaryOp(TrainOp):
    """Base of the elementwise functions of one tensor."""

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor) -> Types:
        """The type of the operand."""
        return (x,)


class FloatUnaryOp(UnaryOp):
    """Base of the elementwise functions of one floating-point tensor."""

    @staticmethod
    def infer(x: Tensor) -> Types:
        """The type of the operand, which is floating point."""
        expect_float(x)
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
