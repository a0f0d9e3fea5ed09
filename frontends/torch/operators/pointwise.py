"""Arithmetic and comparisons, element by element, with PyTorch's promotion of types."""

from __future__ import annotations

from dataclasses import replace
from math import frexp

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import FLOATS, Refused, Tensor, Uniform
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.values import finite

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
Operand = Tensor | int | float | bool

_UNARY = {
    "abs": "abs",
    **{
        name: name
        for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "expm1", "log1p", "sinh", "tan")
    },
    **{name: name for name in ("log2", "log10")},
    **{"absolute": "abs", "negative": "neg", "arccos": "acos", "arcsin": "asin", "arctan": "atan", "arccosh": "acosh"},
    **{"arcsinh": "asinh", "arctanh": "atanh", "special_expit": "sigmoid"},
    "cos": "cos",
    "erf": "erf",
    "exp": "exp",
    "hardsigmoid": "hard_sigmoid",
    "hardswish": "hard_swish",
    "log": "log",
    "log_sigmoid": "log_sigmoid",
    "mish": "mish",
    "neg": "neg",
    "relu": "relu",
    "relu6": "relu6",
    "rsqrt": "rsqrt",
    "selu": "selu",
    "sigmoid": "sigmoid",
    "silu": "silu",
    "sin": "sin",
    "sqrt": "sqrt",
    "tanh": "tanh",
}
_COMPARE = {
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "lt": "less",
    "le": "less_equal",
    "not_equal": "not_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "less": "less",
    "less_equal": "less_equal",
}
_BINARY = {
    **{"mul": "mul", "multiply": "mul", "maximum": "max", "minimum": "min"},
    **{"remainder": "remainder", "fmod": "fmod"},
}


def _unary(function: str) -> Meaning:
    def meaning(c: Context, x: Tensor) -> Call:
        return c.call(function, c.cast(x, c.result_element()))

    return meaning


def _binary(function: str) -> Meaning:
    def meaning(c: Context, x: Operand, other: Operand) -> Call:
        return arithmetic(c, function, x, other)

    return meaning


def _compare(function: str) -> Meaning:
    def meaning(c: Context, x: Tensor, other: Operand) -> Call:
        return c.call(function, *common(c, x, other))

    return meaning


MEANINGS.update({f"aten.{name}": _unary(function) for name, function in _UNARY.items()})
MEANINGS.update({f"aten.{name}": _binary(function) for name, function in _BINARY.items()})
MEANINGS.update({f"aten.{name}": _compare(function) for name, function in _COMPARE.items()})


def common(c: Context, x: Tensor, other: Operand) -> tuple[Tensor, Operand]:
    """Two operands of a comparison in one type."""
    if not isinstance(other, int | float):
        element = _wider(c.element(x), c.element(other))
        return c.cast(x, element), c.cast(other, element)
    element = c.element(x)
    if isinstance(other, float) and element not in FLOATS:
        return c.cast(x, "f32"), other
    return (c.cast(x, "i64"), int(other)) if element == "bool" else (x, other)


_RANKS = ("bool", "i8", "i32", "i64", "f16", "bf16", "f32", "f64")


def _wider(a: str, b: str) -> str:
    """The type that both of two types go into."""
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    return max(a, b, key=_RANKS.index)


_LOGICAL = {"mul": "logical_and", "add": "logical_or", "max": "logical_or", "min": "logical_and"}
"""What arithmetic is of truth values."""


def arithmetic(c: Context, function: str, x: Operand, other: Operand) -> Call:
    """A binary function in the type of the result."""
    element = c.result_element()
    if element == "bool":
        if function not in _LOGICAL:
            raise Refused(f"found {function} of truth values, which has no counterpart")
        function = _LOGICAL[function]
    return c.call(function, c.operand(x, element), c.operand(other, element))


@operator("aten.add")
def add(c: Context, x: Operand, other: Operand, alpha: float = 1) -> Call | Uniform:
    for random, shift in ((x, other), (other, x)):
        if isinstance(random, Uniform) and isinstance(shift, int | float) and alpha == 1:
            return replace(random, low=random.low + shift)
    return arithmetic(c, "add", x, _times(c, other, alpha))


@operator("aten.floor")
def floor(c: Context, x: Tensor) -> Tensor | Call:
    if not isinstance(x, Uniform):
        return _step(c, "floor", x)
    if not 0 <= x.low <= 1:
        raise Refused(f"found random numbers from {x.low} rounded down, expected from 0 to 1")
    return c.call("bernoulli", list(x.shape), x.low, **({} if x.element == "f32" else {"dtype": x.element}))


def _step(c: Context, function: str, x: Tensor) -> Tensor | Call:
    """A function of steps, which changes no integer."""
    return c.call(function, x) if c.element(x) in FLOATS else x


def _steps(function: str) -> Meaning:
    def meaning(c: Context, x: Tensor) -> Tensor | Call:
        return _step(c, function, x)

    return meaning


MEANINGS.update({f"aten.{name}": _steps(function) for name, function in {"ceil": "ceil", "trunc": "trunc"}.items()})
MEANINGS["aten.fix"] = _steps("trunc")


@operator("aten.round")
def round_(c: Context, x: Tensor, decimals: int = 0) -> Tensor | Call:
    if decimals == 0 or c.element(x) not in FLOATS:
        return _step(c, "round", x)
    there, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    scale = 10.0 ** abs(decimals)
    return c.call(back, c.let("round", c.let(there, x, scale)), scale)


@operator("aten.sign", "aten.sgn")
def sign(c: Context, x: Tensor) -> Tensor | Call:
    return x if c.element(x) == "bool" else c.call("sign", x)


@operator("aten.sub", "aten.subtract")
def sub(c: Context, x: Operand, other: Operand, alpha: float = 1) -> Call:
    return arithmetic(c, "sub", x, _times(c, other, alpha))


@operator("aten.rsub")
def rsub(c: Context, x: Operand, other: Operand, alpha: float = 1) -> Call:
    return arithmetic(c, "sub", other, _times(c, x, alpha))


def _times(c: Context, value: Operand, alpha: float) -> Operand:
    if alpha == 1:
        return value
    if c.result_element() == "bool":
        raise Refused(f"found alpha {alpha} of truth values, expected 1")
    return value * alpha if isinstance(value, int | float) else c.let("mul", c.cast(value, c.result_element()), alpha)


@operator("aten.div", "aten.divide", "aten.true_divide")
def div(c: Context, x: Operand, other: Operand, rounding_mode: str | None = None) -> Call:
    of_floats = c.result_element() in FLOATS
    if rounding_mode is None or (rounding_mode == "trunc" and not of_floats):
        return arithmetic(c, "div", x, other)
    if rounding_mode == "trunc" or (of_floats and isinstance(other, int | float) and abs(frexp(other)[0]) in (0.5, 0)):
        return c.call(rounding_mode, c.script.assign(f"{c.layer}.div", arithmetic(c, "div", x, other)))
    # a quotient that is rounded may reach a whole number that the exact one does not: without the rest, none is near
    rest = c.script.assign(f"{c.layer}.remainder", arithmetic(c, "remainder", x, other))
    whole = c.let("sub", c.operand(x, c.result_element()), rest)
    quotient = arithmetic(c, "div", whole, other)
    if not of_floats:
        return quotient
    rounded = c.call("round", c.script.assign(f"{c.layer}.div", quotient))
    if isinstance(other, int | float):
        return rounded
    plain = c.let("floor", c.script.assign(f"{c.layer}.plain", arithmetic(c, "div", x, other)))
    return c.call(
        "where",
        c.let("equal", c.operand(other, c.result_element()), 0.0),
        plain,
        c.script.assign(f"{c.layer}.round", rounded),
    )


@operator("aten.floor_divide")
def floor_divide(c: Context, x: Operand, other: Operand) -> Call:
    return div(c, x, other, "floor")


@operator("aten.reciprocal")
def reciprocal(c: Context, x: Tensor) -> Call:
    return c.call("div", 1.0, c.cast(x, c.result_element()))


@operator("aten.pow")
def power(c: Context, x: Operand, exponent: Operand) -> Call:
    element = c.result_element()
    return c.call("pow", c.operand(x, element), c.operand(exponent, element))


@operator("aten.square")
def square(c: Context, x: Tensor) -> Call:
    own = c.cast(x, c.result_element())
    return c.call("mul", own, own)


@operator("aten.addcmul")
def addcmul(c: Context, x: Tensor, tensor1: Tensor, tensor2: Tensor, value: float = 1) -> Call:
    element = c.result_element()
    product = c.let("mul", c.cast(tensor1, element), c.cast(tensor2, element))
    return c.call("add", c.cast(x, element), product if value == 1 else c.let("mul", product, value))


@operator("aten.lerp")
def lerp(c: Context, x: Tensor, end: Tensor, weight: Operand) -> Call:
    return c.call("add", x, c.let("mul", c.let("sub", end, x), weight))


@operator("aten.logical_not", "aten.bitwise_not", "aten.__not__")
def logical_not(c: Context, x: Tensor) -> Call:
    return c.call("logical_not", truth(c, x)) if c.result_element() == "bool" else c.call("bitwise_not", x)


def truth(c: Context, x: Tensor) -> Tensor:
    """A tensor as truth values."""
    return x if c.element(x) == "bool" else c.let("not_equal", x, 0)


def _logical(word: str) -> Meaning:
    def meaning(c: Context, x: Operand, other: Operand) -> Call:
        element = c.result_element()
        if element != "bool":
            return c.call(f"bitwise_{word}", c.operand(x, element), c.operand(other, element))
        return c.call(f"logical_{word}", *(truth(c, _tensor(one)) for one in (x, other)))

    return meaning


def _tensor(value: Operand) -> Tensor:
    if isinstance(value, int | float):
        raise Refused(f"found the number {value} as a truth value, expected a tensor")
    return value


for _word in ("and", "or", "xor"):
    _names = (f"logical_{_word}", f"bitwise_{_word}", f"__{_word}__")
    MEANINGS.update({f"aten.{name}": _logical(_word) for name in _names})


@operator("aten.where")
def where(c: Context, condition: Tensor, x: Operand, other: Operand) -> Call:
    element = c.result_element()
    return c.call("where", truth(c, condition), number(c, x, element), number(c, other, element))


@operator("aten.masked_fill")
def masked_fill(c: Context, x: Tensor, mask: Tensor, value: Operand) -> Call:
    return c.call("where", truth(c, mask), number(c, value, c.element(x)), x)


def number(c: Context, value: Operand, element: str) -> Operand:
    """What a mask chooses, in an element type; the language has no numbers beside truth values."""
    if element == "bool" and isinstance(value, int | float):
        return c.let("full", [], int(value != 0), dtype="bool")
    return c.operand(finite(value, element) if isinstance(value, int | float) else value, element)


@operator("aten.addcdiv")
def addcdiv(c: Context, x: Tensor, tensor1: Tensor, tensor2: Tensor, value: float = 1) -> Call:
    element = c.result_element()
    quotient = c.let("div", c.cast(tensor1, element), c.cast(tensor2, element))
    return c.call("add", c.cast(x, element), quotient if value == 1 else c.let("mul", quotient, value))
