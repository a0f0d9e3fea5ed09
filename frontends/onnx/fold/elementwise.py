"""Arithmetic, comparison, choice and conversion of constants, elementwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npuc.compiler.layers.rounding import round_to_bfloat16
from npuc.frontends.onnx.container.element_types import BOOL, ELEMENT_TYPES, Array, ElementType
from npuc.frontends.onnx.fold.limits import NotFolded
from npuc.frontends.onnx.fold.rules import Folded, RuleBook
from npuc.frontends.onnx.values import Constant

BOOK = RuleBook()
Function = Callable[..., Any]


def _divided(x: Array, y: Array) -> Array:
    """x / y; integers round towards zero, and a division by zero gives zero."""
    if x.dtype.kind == "f":
        return x / y
    safe = np.where(y == 0, 1, y)
    quotient = np.abs(x) // np.abs(safe) if x.dtype.kind == "i" else x // safe
    negative = (x < 0) != (y < 0) if x.dtype.kind == "i" else False
    return np.where(y == 0, 0, np.where(negative, -quotient, quotient)).astype(x.dtype)


def _remainder(folded: Folded) -> Function:
    return np.fmod if folded.call.int("fmod") else np.mod


def _shifted(folded: Folded) -> Function:
    return np.left_shift if folded.call.string("direction") == "LEFT" else np.right_shift


_SAME: dict[str, Function] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": _divided,
    "Neg": np.negative,
    "Abs": np.abs,
    "Sign": np.sign,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Round": np.rint,
    "Sqrt": np.sqrt,
    "Reciprocal": np.reciprocal,
    "Exp": np.exp,
    "Log": np.log,
    "Sin": np.sin,
    "Cos": np.cos,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "BitwiseNot": np.bitwise_not,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Not": np.logical_not,
}
"""Functions whose result has the type of the first operand."""
_TRUTHS: dict[str, Function] = {
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "IsNaN": np.isnan,
}
_FLOATS = {"Floor", "Ceil", "Round", "Sqrt", "Reciprocal", "Exp", "Log", "Sin", "Cos", "IsNaN"}
_UNARY = {"Neg", "Abs", "Sign", "BitwiseNot", "Not", *_FLOATS}
_BOOLEANS = {"And", "Or", "Xor", "Not"}


def computed(folded: Folded, function: Function, arrays: Sequence[Array], type: ElementType) -> Constant:
    """A function of constants of broadcast shapes; axes along which all elements are equal stay without memory."""
    if not arrays:
        raise folded.call.error("has no inputs")
    try:
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        raise folded.call.error(f"shapes {[list(a.shape) for a in arrays]} do not broadcast") from None
    small = [compact(a) for a in arrays]
    folded.limits.claim(np.broadcast_shapes(*(a.shape for a in small)))
    with np.errstate(all="ignore"):
        result = np.asarray(function(*small))
        return Constant(np.broadcast_to(held(result, type), shape), type)


def compact(array: Array) -> Array:
    """An array without the repetitions that take no memory: such axes have the size 1."""
    pairs = zip(array.shape, array.strides, strict=True)
    return array[tuple(slice(0, 1) if size > 1 and not stride else slice(None) for size, stride in pairs)]


def held(array: Array, type: ElementType) -> Array:
    """Values rounded to an element type. Raises `NotFolded` for types in which nothing is computed here."""
    if type.short is not None or type.bits in (2, 4):
        raise NotFolded(f"arithmetic on {type.name}")
    array = array.astype(type.held)
    return round_to_bfloat16(array) if type.name == "bfloat16" else array


@BOOK.rule(*_SAME, "Mod", "BitShift", *_TRUTHS, "Pow")
def _arithmetic(folded: Folded) -> Sequence[Constant]:
    """One or two operands of one type; the second one of a power may have another."""
    op, arrays = folded.call.op, folded.arrays
    expected = 1 if op in _UNARY else 2
    if len(arrays) != expected or len(folded.call.inputs) != expected:
        raise folded.call.error(f"found {len(folded.call.inputs)} inputs, expected {expected}")
    types = {value.type for value in folded.call.inputs if isinstance(value, Constant)}
    if len(types) > 1 and op != "Pow":
        raise folded.call.error(f"found inputs of {' and '.join(sorted(t.name for t in types))}, expected one type")
    kind = folded.type.held.kind
    if kind == "O":
        raise NotFolded("strings")
    if (op in _FLOATS and kind != "f") or (op in _BOOLEANS) != (kind == "b" and op != "Equal"):
        raise folded.call.error(f"found an input of {folded.type.name}")
    if op in _TRUTHS:
        return [computed(folded, _TRUTHS[op], arrays, BOOL)]
    return [computed(folded, _function(folded), arrays, folded.type)]


def _function(folded: Folded) -> Function:
    op = folded.call.op
    if op == "Pow":
        return _power
    return _remainder(folded) if op == "Mod" else _shifted(folded) if op == "BitShift" else _SAME[op]


def _power(x: Array, y: Array) -> Array:
    whole = x.dtype.kind in "iu" and y.dtype.kind in "iu" and not np.any(y < 0)
    return np.power(x, y.astype(x.dtype)) if whole else np.power(x.astype(np.float64), y)


@BOOK.rule("Min", "Max", "Sum", "Mean")
def _several(folded: Folded) -> Sequence[Constant]:
    """Any number of operands."""
    function = {"Min": np.minimum, "Max": np.maximum, "Sum": np.add, "Mean": np.add}[folded.call.op]
    found = folded.arrays
    if not found:
        raise folded.call.error("has no inputs")
    result = Constant(found[0], folded.type)
    for array in found[1:]:
        result = computed(folded, function, [result.array, array], folded.type)
    if folded.call.op == "Mean":
        return [computed(folded, np.divide, [result.array, np.array(len(found))], folded.type)]
    return [result]


@BOOK.rule("Where")
def _where(folded: Folded) -> Sequence[Constant]:
    condition, x, y = (folded.array(index) for index in range(3))
    if condition.dtype.kind != "b":
        raise folded.call.error(f"found a condition of {folded.type.name}, expected bool")
    return [computed(folded, np.where, [condition, x, y], folded.call.tensor(1).type)]


@BOOK.rule("Clip")
def _clip(folded: Folded) -> Sequence[Constant]:
    result = Constant(folded.array(0), folded.type)
    for index, function in ((1, np.maximum), (2, np.minimum)):
        if folded.call.has(index):
            result = computed(folded, function, [result.array, folded.array(index)], folded.type)
    return [result]


@BOOK.rule("Relu")
def _relu(folded: Folded) -> Sequence[Constant]:
    return [computed(folded, np.maximum, [folded.array(0), np.array(0)], folded.type)]


@BOOK.rule("Cast", "CastLike")
def _cast(folded: Folded) -> Sequence[Constant]:
    """Conversion: reals to integers towards zero, all but 0 to true."""
    if folded.call.op == "CastLike":
        to = folded.call.tensor(1).type
    else:
        code = folded.call.int("to")
        if code not in ELEMENT_TYPES:
            raise folded.call.error(f"found the element type {code}, expected 1 to {max(ELEMENT_TYPES)}")
        to = ELEMENT_TYPES[code]
    if "O" in (to.held.kind, folded.type.held.kind):
        raise NotFolded("strings")
    if to is folded.type:
        return [Constant(folded.array(0), to)]
    return [computed(folded, np.asarray, [folded.array(0)], to)]
