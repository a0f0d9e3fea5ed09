"""Functions of elements, which broadcast views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isnan
from typing import cast

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.jax.biases import with_bias
from npuc.frontends.jax.context import HloContext, Meaning, Number, registry
from npuc.frontends.jax.values import HloValue, Known
from npuc.frontends.jax.views import TensorView, Value, checked, constant, whole
from npuc.frontends.script.weights import FLOATS, Refused

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
UNARY: Mapping[str, str] = {
    **{name: name for name in ("abs", "ceil", "floor", "log", "rsqrt", "sign", "sqrt", "tan", "tanh")},
    **{"cosine": "cos", "sine": "sin", "exponential": "exp", "exponential_minus_one": "expm1"},
    **{"log_plus_one": "log1p", "logistic": "sigmoid", "negate": "neg", "round_nearest_even": "round"},
    **{"is_finite": "isfinite", "is_inf": "isinf", "erf": "erf", "acos": "acos", "acosh": "acosh", "asin": "asin"},
    **{"asinh": "asinh", "atan": "atan", "atanh": "atanh", "cosh": "cosh", "sinh": "sinh"},
}
BINARY: Mapping[str, str] = {
    **{"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "maximum": "max", "minimum": "min"},
    **{"power": "pow", "remainder": "fmod", "atan2": "atan2"},
    **{"shift_left": "shift_left", "shift_right_arithmetic": "shift_right"},
}
BITS: Mapping[str, str] = {"and": "and", "or": "or", "xor": "xor", "not": "not"}
COMPARED: Mapping[str, tuple[str, str]] = {
    "EQ": ("equal", "equal"),
    "NE": ("not_equal", "not_equal"),
    "LT": ("less", "greater"),
    "LE": ("less_equal", "greater_equal"),
    "GT": ("greater", "less"),
    "GE": ("greater_equal", "less_equal"),
}
"""The function of each direction, and the one with the operands exchanged."""


def applied(c: HloContext, function: str, operands: Sequence[Value | Number], **named: object) -> TensorView:
    """A function of elements at one place: operands broadcast, in the order of the first that has all axes."""
    rank = len(c.type.shape)
    views = [one for one in operands if isinstance(one, TensorView)]
    main = next((one for one in views if one.is_whole), max(views, key=lambda one: len(one.order)))
    order = [*main.order, *(axis for axis in range(rank) if main.axes[axis] is None)]
    if main.order == sorted(main.order):
        order = list(range(rank))
    present = [axis for axis in order if any(one.axes[axis] is not None for one in views)]
    given = [c.views.aligned(c, one, present) if isinstance(one, TensorView) else one for one in operands]
    call = c.call(function, *cast("list[Name | float]", given), **cast("dict[str, str]", named))
    axes = tuple(present.index(axis) if axis in present else None for axis in range(rank))
    return TensorView(c.named(call), axes, c.type.shape, checked(c.type.element))


def with_numbers(c: HloContext, operands: Sequence[Value]) -> list[Value | Number]:
    """Operands with numbers in place of equal elements, as long as one is a tensor."""
    found: list[Value | Number] = [
        scalar if isinstance(one, Known) and (scalar := one.scalar) is not None else one for one in operands
    ]
    found = [constant(c, one) if isinstance(one, Known) else one for one in found]
    if not any(isinstance(one, TensorView) for one in found):
        first = operands[0]
        assert isinstance(first, Known)
        found[0] = constant(c, first)
    return found


def _unary(c: HloContext) -> TensorView:
    return applied(c, UNARY[c.flat.kind], [c.view(0)])


MEANINGS.update(dict.fromkeys(UNARY, _unary))


@operator(*BINARY)
def binary(c: HloContext) -> Value:
    kind, function = c.flat.kind, BINARY[c.flat.kind]
    if c.type.element == "bool":
        return _bits(c, {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}[kind])
    if (layer := with_bias(c)) is not None:
        return layer
    left, right = with_numbers(c, c.given)
    if kind == "subtract" and _is(right, 0.0) and isinstance(left, TensorView):
        return left  # a normalisation without a mean
    if kind == "maximum" and _is(right, 0.0) and c.type.element in FLOATS:
        return applied(c, "relu", [left])
    if (kind == "maximum" and -inf in (left, right)) or (kind == "minimum" and inf in (left, right)):
        return cast(TensorView, left if isinstance(left, TensorView) else right)
    if kind == "divide" and (found := _sigmoid(c, left, right)) is not None:
        return applied(c, "sigmoid", [found])
    if isinstance(left, TensorView) or kind in ("power",):
        return applied(c, function, [left, right])
    if kind in ("add", "multiply", "maximum", "minimum"):
        return applied(c, function, [right, left])
    if kind == "subtract":
        return applied(c, "add", [_beside(c, "neg", right), left])
    if kind == "divide" and c.type.element in FLOATS:
        quotient = _beside(c, "pow", right, -1.0)
        return quotient if left == 1 else applied(c, "mul", [quotient, left])
    return applied(c, function, [constant(c, cast(Known, c.argument(0))), right])


def _is(value: object, number: float) -> bool:
    return isinstance(value, int | float) and value == number


def _beside(c: HloContext, function: str, value: object, *more: float) -> TensorView:
    """A function of a view's elements, beside the result."""
    assert isinstance(value, TensorView)
    name = c.let(function, value.name, *more)
    return TensorView(name, value.axes, value.shape, value.element)


def _sigmoid(c: HloContext, left: object, right: object) -> TensorView | None:
    """The x of 1 / (1 + exp(-x)); None for another quotient."""
    if left != 1 or not isinstance(right, TensorView):
        return None
    total = _call_of(c, right.name, "add")
    power = total and _call_of(c, total[0], "exp")
    if not total or len(total) < 2 or c.script.constant(total[1]) != 1 or not power:
        return None
    negative = _call_of(c, power[0], "neg")
    if not negative:
        return None
    return TensorView(negative[0], right.axes, right.shape, right.element)


def _call_of(c: HloContext, name: object, function: str) -> list[Name] | None:
    """The operands of the call that a variable is, if it is one of a function."""
    written = c.script.written(name) if isinstance(name, Name) else None
    if not isinstance(written, Call) or written.function != function:
        return None
    return [cast(Name, argument.value) for argument in written.arguments]


@operator("and", "or", "xor", "not")
def bits(c: HloContext) -> Value:
    return _bits(c, BITS[c.flat.kind])


def _bits(c: HloContext, name: str) -> TensorView:
    prefix = "logical" if c.type.element == "bool" else "bitwise"
    operands = c.given if name == "not" else with_numbers(c, c.given)
    if prefix == "logical":
        operands = [constant(c, one) if isinstance(one, Known) else one for one in c.given]
    elif not isinstance(operands[0], TensorView):
        operands = operands[::-1]
    if prefix == "logical" and name == "xor":
        return applied(c, "not_equal", operands)
    return applied(c, f"{prefix}_{name}", operands)


@operator("compare")
def compare(c: HloContext) -> Value:
    direction = COMPARED[c.flat.op.texts["comparison_direction"]]
    given = c.given
    if given[0].element == "bool":
        return applied(c, direction[0], [constant(c, one) if isinstance(one, Known) else one for one in given])
    left, right = with_numbers(c, given)
    if not isinstance(left, TensorView):
        return applied(c, direction[1], [right, left])
    return applied(c, direction[0], [left, right])


@operator("select")
def select(c: HloContext) -> Value:
    given = c.flat.operands
    condition, first, second = c.given
    if isinstance(second, Known) and isinstance(number := second.scalar, float) and isnan(number):
        if isinstance(made := given[1], HloValue) and made.op is not None and made.op.kind == "gather":
            return first  # places beyond the operand give NaN in JAX; a run refuses them
    if isinstance(condition, Known):
        if condition.scalar is not None:
            return first if condition.scalar else second
        condition = constant(c, condition)
    if isinstance(wrapped := _wrapped(c), TensorView):
        return wrapped
    if condition.shape != c.type.shape:  # a scalar predicate
        condition = TensorView(condition.name, (None,) * len(c.type.shape), c.type.shape, condition.element)
    numbers = [_number(one) for one in (first, second)]
    if None not in numbers:
        numbers[0] = constant(c, cast(Known, first))
    return applied(
        c,
        "where",
        [
            condition,
            *cast(
                "list[TensorView | float]",
                [
                    constant(c, one) if isinstance(one, Known) else one
                    for one in (
                        number if number is not None else value
                        for number, value in zip(numbers, (first, second), strict=True)
                    )
                ],
            ),
        ],
    )


def _number(value: Value) -> object:
    return value.scalar if isinstance(value, Known) else None


def _wrapped(c: HloContext) -> Value | None:
    """The index i of `where(i < 0, i + size, i)`, of which no element is below 0 in a program that runs; else None."""
    condition, moved, plain = c.flat.operands
    if not (isinstance(condition, HloValue) and isinstance(moved, HloValue) and condition.op and moved.op):
        return None
    test, shift = condition.op, moved.op
    if test.kind != "compare" or shift.kind != "add" or test.op.texts.get("comparison_direction") != "LT":
        return None
    zero, size = test.operands[1], shift.operands[1]
    if not (isinstance(zero, Known) and zero.scalar == 0 and isinstance(size, Known)) or (c.is_step and False):
        return None
    if test.operands[0] is not plain or shift.operands[0] is not plain or c.type.element not in ("i32", "i64"):
        return None
    return c.views.of(c, plain)


@operator("clamp")
def clamp(c: HloContext) -> Value:
    low, x, high = c.given
    bounds: dict[str, object] = {}
    for name, bound in (("low", low), ("high", high)):
        if not isinstance(bound, Known) or bound.scalar is None:
            raise Refused("found bounds that are computed, expected numbers")
        bounds[name] = bound.scalar
    return applied(c, "clip", [constant(c, x) if isinstance(x, Known) else x], **bounds)


@operator("convert")
def convert(c: HloContext) -> Value:
    x = c.view(0)
    return x if x.element == c.type.element else applied(c, "cast", [x], to=checked(c.type.element))


@operator("square")
def square(c: HloContext) -> Value:
    x = c.view(0)
    return applied(c, "mul", [x, x])


@operator("cbrt")
def cbrt(c: HloContext) -> Value:
    x = c.view(0)
    root = _beside(c, "pow", _beside(c, "abs", x), 1 / 3)
    return applied(c, "copysign", [root, x])


@operator("erfc")
def erfc(c: HloContext) -> Value:
    return applied(c, "add", [_beside(c, "neg", _beside(c, "erf", c.view(0))), 1.0])


@operator("iota")
def iota(c: HloContext) -> Value:
    axis = c.ints["iota_dimension"][0]
    name = c.named(c.call("arange", c.type.shape[axis], dtype=checked(c.type.element)))
    axes = tuple(0 if number == axis else None for number in range(len(c.type.shape)))
    return TensorView(name, axes, c.type.shape, c.type.element)


__all__ = ["MEANINGS", "applied", "whole", "with_numbers"]
