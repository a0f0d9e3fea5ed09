"""Arithmetic on the numbers, lists and strings of a program; mistakes are raised as a Fault."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import ceil, cos, exp, floor, isfinite, log, sin, sqrt
from typing import TypeAlias

from xdsl.ir import SSAValue

from npuc.frontends.dsl.values import MAX_INTEGER, Fault, Value, describe, is_integer, is_number, joined

Number: TypeAlias = int | float
Function: TypeAlias = Callable[[list[Value]], Value]
"""A function of numbers or lists."""

_ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda a, b: a // b,
    "%": operator.mod,
}
_ORDER: dict[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def checked_number(value: Number) -> Number:
    """The result, checked to be in range: integers below 2**63, finite floats."""
    if isinstance(value, int):
        if abs(value) >= MAX_INTEGER:
            raise Fault("the result is too large, integers are below 2**63")
    elif not isfinite(value):
        raise Fault("the result is not a finite number")
    return value


def combine(symbol: str, a: Value, b: Value) -> Value:
    """`a symbol b` for two values that are not tensors."""
    if symbol in ("==", "!="):
        return _equal(a, b) == (symbol == "==")
    if isinstance(a, list) and isinstance(b, list) and symbol == "+":
        return joined(a, b)
    left, right = _number(a, f"beside '{symbol}'"), _number(b, f"beside '{symbol}'")
    if symbol in _ORDER:
        return _ORDER[symbol](left, right)
    if right == 0 and symbol in ("/", "//", "%"):
        raise Fault(f"division by zero: {left!r} {symbol} {right!r}")
    match symbol:
        case "/":
            return _divide(left, right)
        case "**":
            return _power(left, right)
        case _:
            return checked_number(_ARITHMETIC[symbol](left, right))


def _equal(a: Value, b: Value) -> bool:
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def _number(value: Value, where: str) -> Number:
    if not is_number(value):
        raise Fault(f"found {describe(value)} {where}, expected a number")
    return value


def _divide(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        if a % b:
            raise Fault(f"{a} / {b} is not an integer", f"{a} // {b} rounds down to {a // b}")
        return a // b
    return checked_number(a / b)


def _power(a: Number, b: Number) -> Number:
    if a == 0 and b < 0:
        raise Fault(f"division by zero: {a!r} ** {b!r}")
    if a < 0 and b != int(b):
        raise Fault(f"{a!r} ** {b!r} is not a real number")
    if isinstance(a, int) and isinstance(b, int) and b >= 0:
        if abs(a) > 1 and b >= 64:
            raise Fault(f"{a} ** {b} is too large, integers are below 2**63")
        return checked_number(a**b)
    try:
        return checked_number(float(a) ** b)
    except OverflowError:
        raise Fault(f"{a!r} ** {b!r} is not a finite number") from None


def negate(value: Value) -> Value:
    """`-value`."""
    return -_number(value, "after '-'")


def boolean(value: Value) -> bool:
    """A condition."""
    if not isinstance(value, bool):
        raise Fault(f"found {describe(value)}, expected true or false")
    return value


def integer(value: Value, what: str) -> int:
    """An integer; `what` says what it is for."""
    if not is_integer(value):
        raise Fault(f"found {describe(value)} as {what}, expected an integer")
    return value


def item(sequence: Value, index: Value) -> Value:
    """`sequence[index]`; negative indices count from the end."""
    if not isinstance(sequence, list):
        hint = "slice(x, axis, start, stop) cuts a tensor, unbind(x, axis) makes a list of its parts"
        raise Fault(
            f"found {describe(sequence)} in front of '[', expected a list",
            hint if isinstance(sequence, SSAValue) else None,
        )
    position = integer(index, "an index")
    if not -len(sequence) <= position < len(sequence):
        expected = f"{-len(sequence)} to {len(sequence) - 1}" if sequence else "a list that is not empty"
        raise Fault(f"found index {position}, expected {expected}")
    return sequence[position]


# ---- functions of numbers: evaluated while the network is built


def _over_all(name: str, choose: Callable[[list[Number]], Number], empty: Number | None) -> Function:
    """A function of numbers, or of one list of numbers; `empty` is its value for an empty list, if it has one."""

    def function(arguments: list[Value]) -> Value:
        only = arguments[0] if len(arguments) == 1 else None
        values = only if isinstance(only, list) else arguments
        if not values and (empty is None or not isinstance(only, list)):
            raise Fault(f"found no argument of {name}, expected numbers or a list of numbers")
        return checked_number(choose([_number(v, f"as argument of {name}") for v in values]))

    return function


def _of_one(name: str, compute: Callable[[Number], Number]) -> Function:
    """A function of one number."""

    def function(arguments: list[Value]) -> Value:
        (value,) = arguments
        number = _number(value, f"as argument of {name}")
        try:
            return checked_number(compute(number))
        except ValueError:
            raise Fault(f"{name}({number!r}) is not a real number") from None
        except OverflowError:
            raise Fault(f"{name}({number!r}) is not a finite number") from None

    return function


def _pow(arguments: list[Value]) -> Value:
    base, exponent = (_number(v, "as argument of pow") for v in arguments)
    return _power(base, exponent)


def _len(arguments: list[Value]) -> Value:
    (value,) = arguments
    if not isinstance(value, list):
        raise Fault(f"found {describe(value)} as argument of len, expected a list")
    return len(value)


NUMBER_FUNCTIONS: dict[str, tuple[int | None, Function]] = {
    "abs": (1, _of_one("abs", abs)),
    "ceil": (1, _of_one("ceil", ceil)),
    "cos": (1, _of_one("cos", cos)),
    "exp": (1, _of_one("exp", exp)),
    "floor": (1, _of_one("floor", floor)),
    "len": (1, _len),
    "log": (1, _of_one("log", log)),
    "max": (None, _over_all("max", max, None)),
    "min": (None, _over_all("min", min, None)),
    "pow": (2, _pow),
    "round": (1, _of_one("round", round)),
    "sin": (1, _of_one("sin", sin)),
    "sqrt": (1, _of_one("sqrt", sqrt)),
    "sum": (None, _over_all("sum", sum, 0)),
}
"""The functions of numbers and lists by name, each with the number of its arguments (None: any)."""


def takes_numbers(arguments: list[Value]) -> bool:
    """True when no argument is a tensor: a function of numbers is meant, not the layer of the same name."""
    return not any(isinstance(v, SSAValue) for v in arguments)
