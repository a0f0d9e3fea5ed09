"""Elementwise primitives: one operation each, after broadcasts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log
from typing import cast

from xdsl.ir import Operation, SSAValue

from npuc.compiler.emit.upstream.ranges import is_unsigned
from npuc.compiler.emit.upstream.stablehlo.writer import StablehloWriter
from npuc.dialects.tensors import Tensor, shape_of, tensor_type

Write = Callable[[StablehloWriter, Sequence[SSAValue]], SSAValue]
"""From operands of one shape to the result."""


def _named(name: str) -> Write:
    return lambda w, args: w.same(name, *args)


def _compared(direction: str) -> Write:
    return lambda w, args: w.compare(direction, args[0], args[1])


def _logarithm(base: int) -> Write:
    """By the natural logarithm, the only one that there is."""

    def write(w: StablehloWriter, args: Sequence[SSAValue]) -> SSAValue:
        return w.same("divide", w.same("log", *args), w.number(log(base), args[0]))

    return write


def _abs(w: StablehloWriter, args: Sequence[SSAValue]) -> SSAValue:
    return args[0] if is_unsigned(tensor_type(args[0]).element_type) else w.same("abs", *args)


def _shifted_right(w: StablehloWriter, args: Sequence[SSAValue]) -> SSAValue:
    logical = is_unsigned(tensor_type(args[0]).element_type)
    return w.same("shift_right_logical" if logical else "shift_right_arithmetic", *args)


_NAMES = {
    "ceil": "ceil",
    "floor": "floor",
    "round": "round_nearest_even",
    "exp": "exponential",
    "expm1": "exponential_minus_one",
    "log": "log",
    "log1p": "log_plus_one",
    "sqrt": "sqrt",
    "sin": "sine",
    "cos": "cosine",
    "tan": "tan",
    "tanh": "tanh",
    **{name: f"chlo.{name}" for name in ("sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "erf")},
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "max": "maximum",
    "min": "minimum",
    "pow": "power",
    "atan2": "atan2",
    "fmod": "remainder",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "bitwise_not": "not",
    "logical_and": "and",
    "logical_or": "or",
    "logical_not": "not",
    "shift_left": "shift_left",
}
_COMPARED = {
    "equal": "EQ",
    "not_equal": "NE",
    "less": "LT",
    "less_equal": "LE",
    "greater": "GT",
    "greater_equal": "GE",
}
WRITES: Mapping[str, Write] = {
    **{f"train.{name}": _named(its) for name, its in _NAMES.items()},
    **{f"train.{name}": _compared(direction) for name, direction in _COMPARED.items()},
    "train.abs": _abs,
    "train.log2": _logarithm(2),
    "train.log10": _logarithm(10),
    "train.shift_right": _shifted_right,
    "train.where": lambda w, args: w.select(*args),
}


def elementwise(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Operands in the shape of the result, then the operation."""
    shape = shape_of(op.results[0])
    return [WRITES[op.name](w, [w.broadcast(value, shape) for value in operands])]


def _cast(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """StableHLO converts as the program does: to integers towards zero, to booleans what is not 0."""
    return [w.convert(operands[0], cast(Tensor, op.results[0].type).element_type)]


LOWERINGS = {**dict.fromkeys(WRITES, elementwise), "train.cast": _cast}
