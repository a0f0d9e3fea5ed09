"""
Shape rules that several families of operations share; they raise VerifyException in the terms of the user's program.

`check_…` only checks; the others return what the rule determines.
"""

from itertools import zip_longest
from typing import cast

from xdsl.dialects.builtin import AnyFloat, IntegerType, i1
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from npuc.dialects.tensors import Tensor, element_text, shape_text, tensor_of
from npuc.dialects.train.base import Types

_NUMBERS = {1: "one integer", 2: "two integers", 3: "three integers"}


# ---- element types


def check_numbers(x: Tensor) -> None:
    """The rule for operations that have no meaning on booleans."""
    if x.element_type == i1:
        raise VerifyException("elements are bool, expected numbers: cast them first")


def check_float(x: Tensor) -> None:
    """The rule for operations that have a meaning on floating-point elements only."""
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


def check_beside(x: Tensor, **numbers: float) -> None:
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


def same_element(*types: Tensor) -> Attribute:
    """The one element type of several tensors."""
    first = types[0].element_type
    for type in types[1:]:
        if type.element_type != first:
            raise VerifyException(f"element types differ: {element_text(first)} and {element_text(type.element_type)}")
    return first


# ---- types


def same_type(a: Tensor, b: Tensor) -> Types:
    """The type of the result, which two operands have."""
    if a != b:
        raise VerifyException(f"operands differ: {shape_text(a)} {a.element_type} and {shape_text(b)} {b.element_type}")
    return (a,)


def check_type(what: str, found: Tensor, expected: Tensor) -> None:
    """The rule for an operand whose type others determine."""
    if found != expected:
        raise VerifyException(f"{what} is {found}, expected {expected}")


def is_precise(found: Tensor, expected: Tensor) -> bool:
    """Whether a tensor has the expected type, or one of wider floats of that shape."""
    if found == expected:
        return True
    element, least = found.element_type, expected.element_type
    wider = isinstance(element, AnyFloat) and isinstance(least, AnyFloat) and element.bitwidth > least.bitwidth
    return wider and found.get_shape() == expected.get_shape()


def check_precise(what: str, found: Tensor, expected: Tensor) -> None:
    """The rule for parameters and statistics beside an operand: its element type, or wider floats."""
    if not is_precise(found, expected):
        check_type(what, found, expected)


def as_precise(found: Tensor, expected: Tensor) -> Tensor:
    """The type of a result that may be more precise than expected: the one found if it is, else the expected one."""
    return found if is_precise(found, expected) else expected


def check_like_output(dy: Tensor, y: Tensor) -> None:
    """The rule of a derivative that reads the output y."""
    if dy != y:
        raise VerifyException(f"dy is {dy}, y is {y}")


def check_output(dy: Tensor, forward: Types, what: str) -> None:
    """The rule of a derivative: dy has the type of the output, which `what` names."""
    if (dy,) != forward:
        raise VerifyException(f"dy is {shape_text(dy)}, {what} {shape_text(forward[0])}")


# ---- shapes


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape two shapes broadcast to by numpy's rule, or None."""
    out: list[int] = []
    for x, y in zip_longest(reversed(a), reversed(b), fillvalue=1):
        if x != y and 1 not in (x, y):
            return None
        out.append(x if y == 1 else y)
    return tuple(reversed(out))


def check_axis(x: Tensor, axis: int) -> None:
    """The rule for an axis argument: -rank <= axis < rank."""
    rank = len(x.get_shape())
    if not -rank <= axis < rank:
        raise VerifyException(f"axis is {axis}, expected {-rank} to {rank - 1} for {shape_text(x)}")


def check_positive(name: str, values: tuple[int, ...], axes: int) -> None:
    """The rule for a property with a positive integer for each of so many axes."""
    if len(values) != axes or min(values) < 1:
        raise VerifyException(f"{name} is {list(values)}, expected {_NUMBERS[axes]} of at least 1")


def check_scalar(name: str, x: Tensor) -> None:
    """The rule for scalar operands."""
    if x.get_shape() != ():
        raise VerifyException(f"{name} is {shape_text(x)}, expected a scalar")


def check_image(x: Tensor) -> None:
    """The rule for inputs with rows and columns."""
    if len(x.get_shape()) != 4:
        raise VerifyException(f"the input must be [batch, channels, height, width], got {shape_text(x)}")


def channel_type(x: Tensor) -> Tensor:
    """The type of one value a channel of x [batch, channels, …]."""
    if len(x.get_shape()) < 2:
        raise VerifyException(f"the input must be [batch, channels, …], got {shape_text(x)}")
    return tensor_of(x.element_type, x.get_shape()[1:2])
