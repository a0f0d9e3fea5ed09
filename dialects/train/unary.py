"""What the elementwise functions of one tensor have in common."""

from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, TensorType, i1
from xdsl.ir import Attribute
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


def expect_numbers(x: Tensor) -> None:
    """The rule for what has no meaning on booleans."""
    if x.element_type == i1:
        raise VerifyException("elements are bool, expected numbers: cast them first")


def expect_float(x: Tensor) -> None:
    """The rule for what only has a meaning on floating-point elements."""
    if not isinstance(x.element_type, AnyFloat):
        found = "bool" if x.element_type == i1 else x.element_type
        raise VerifyException(f"elements are {found}, expected floating point: cast them first")


def integer_range(element: Attribute) -> tuple[int, int] | None:
    """
    The least and the largest number that may stand for an element of an integer type; None for other types.

    Properties are f64: beyond 2^53 one of them could stand for several integers.
    """
    if not isinstance(element, IntegerType):
        return None
    bits, exact = cast(IntegerType, element).width.data, (1 << 53) - 1
    return (0, 1) if bits == 1 else (max(-1 << (bits - 1), -exact), min((1 << (bits - 1)) - 1, exact))


def expect_of_type(x: Tensor, **numbers: float) -> None:
    """The rule for numbers that stand beside the elements of x: integers of its type. They are given by name."""
    bounds = integer_range(x.element_type)
    if bounds is None:
        return
    low, high = bounds
    for name, number in numbers.items():
        if not number.is_integer():
            raise VerifyException(f"{name} is {number}, expected an integer beside elements of {x.element_type}")
        if not low <= number <= high:
            raise VerifyException(f"{name} is {number}, expected {low} to {high} beside elements of {x.element_type}")


class UnaryOp(TrainOp):
    """Base of the elementwise functions of one tensor of numbers."""

    x = operand_def(TensorType)
    out = result_def(TensorType)
    traits = traits_def(Pure())

    @staticmethod
    def infer(x: Tensor) -> Types:
        """The type of the operand, not bool."""
        expect_numbers(x)
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
