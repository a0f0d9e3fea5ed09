"""The functions that size expressions may call, on whole numbers, floats and truth values within 64 bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

Number: TypeAlias = int | float | bool
LARGEST = 1 << 63
"""Numbers as large as this one are refused: PyTorch's sizes have 64 bits."""
MANY = 1 << 16


@dataclass(frozen=True)
class SizeFunction:
    """A function, how many arguments it takes, and the sign that is written between them ("": it is called by name)."""

    compute: Callable[..., Any]
    least: int
    most: int
    sign: str = ""


def bounded(value: Number) -> Number:
    """A value of at most 64 bits. Raises `ValueError` for any other."""
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise ValueError("the number has more than 64 bits")
    return value


def _sum(*values: Number) -> Number:
    return sum(values)


def _product(*values: Number) -> Number:
    result: Number = 1
    for value in values:
        result = bounded(result * value)
    return result


def _power(base: Number, exponent: Number) -> Number:
    if not (isinstance(base, int) and isinstance(exponent, int)):
        return float(base) ** float(exponent)
    if exponent < 0:
        return 1 / _power(base, -exponent)
    if abs(base) > 1 and exponent * (abs(base).bit_length() - 1) > LARGEST.bit_length():
        raise ValueError("the number has more than 64 bits")
    return base**exponent if abs(base) > 1 else (base if exponent % 2 else base * base) if exponent else 1


def _ceil_div(value: int, by: int) -> int:
    return -(-value // by)


def _rational(value: int, by: int) -> Number:
    return value // by if value % by == 0 else value / by


def _c_remainder(value: int, by: int) -> int:
    """The remainder with the sign of the first operand, as in C."""
    remainder = abs(value) % abs(by)
    return remainder if value >= 0 else -remainder


def _indexing(base: int, divisor: int, modulus: int) -> int:
    return base // divisor % modulus


def _choice(condition: Number, then: Number, other: Number) -> Number:
    return then if condition else other


def _shift(value: int, by: int, left: bool) -> int:
    if not 0 <= by < LARGEST.bit_length():
        raise ValueError("the shift is not within 64 bits")
    return value << by if left else value >> by


def _floor_div(value: Number, by: Number) -> Number:
    return value // by


def _true_div(value: Number, by: Number) -> Number:
    return value / by


def _trunc(value: Number) -> float:
    return float(math.trunc(value))


def _same(value: Number) -> Number:
    return value


def _all(*values: Number) -> bool:
    return all(values)


def _any(*values: Number) -> bool:
    return any(values)


def _functions() -> dict[str, SizeFunction]:
    def two(compute: Callable[..., Any], sign: str = "") -> SizeFunction:
        return SizeFunction(compute, 2, 2, sign)

    def one(compute: Callable[..., Any]) -> SizeFunction:
        return SizeFunction(compute, 1, 1)

    def many(compute: Callable[..., Any], sign: str = "") -> SizeFunction:
        return SizeFunction(compute, 1, MANY, sign)

    table = {
        "Add": many(_sum, " + "),
        "Subtract": two(operator.sub, " - "),
        "Mul": many(_product, "*"),
        "Pow": two(_power, "**"),
        "PowByNatural": two(_power, "**"),
        "FloatPow": two(_power, "**"),
        "FloorDiv": two(_floor_div, "//"),
        "CleanDiv": two(_floor_div, "//"),
        "CeilDiv": two(_ceil_div),
        "Rational": two(_rational, "/"),
        "IntTrueDiv": two(_true_div, "/"),
        "FloatTrueDiv": two(_true_div, "/"),
        "Mod": two(operator.mod, " % "),
        "PythonMod": two(operator.mod, " % "),
        "CMod": two(_c_remainder),
        "ModularIndexing": SizeFunction(_indexing, 3, 3),
        "Max": many(max),
        "Min": many(min),
        "Abs": one(abs),
        "Where": SizeFunction(_choice, 3, 3),
        "CeilToInt": one(math.ceil),
        "FloorToInt": one(math.floor),
        "TruncToInt": one(math.trunc),
        "TruncToFloat": one(_trunc),
        "RoundToInt": one(round),
        "ceiling": one(math.ceil),
        "floor": one(math.floor),
        "ToFloat": one(float),
        "Identity": one(_same),
        "LShift": two(partial(_shift, left=True)),
        "RShift": two(partial(_shift, left=False)),
        "Equality": two(operator.eq, " == "),
        "Eq": two(operator.eq, " == "),
        "Unequality": two(operator.ne, " != "),
        "Ne": two(operator.ne, " != "),
        "StrictLessThan": two(operator.lt, " < "),
        "LessThan": two(operator.le, " <= "),
        "StrictGreaterThan": two(operator.gt, " > "),
        "GreaterThan": two(operator.ge, " >= "),
        "And": many(_all),
        "Or": many(_any),
        "Not": one(operator.not_),
    }
    for name in ("sqrt", "exp", "log", "log2"):
        table[name] = table[f"OpaqueUnaryFn_{name}"] = one(getattr(math, name))
    return table


FUNCTIONS = _functions()
"""The functions by the names that files give them."""
