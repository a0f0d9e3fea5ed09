"""`keras.ops` in a model of Keras 3: `x * 2 + y`, `keras.ops.relu(x)`."""

from __future__ import annotations

from collections.abc import Callable

from npuc.frontends.dsl.syntax import Name
from npuc.frontends.keras.activations import activate
from npuc.frontends.keras.layer import KerasLayer
from npuc.frontends.keras.layers import Meaning, registry
from npuc.frontends.keras.model import items
from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

MEANINGS: dict[str, Meaning] = {}
operation = registry(MEANINGS)

_BINARY = {
    **{"Add": "add", "Subtract": "sub", "Multiply": "mul", "Divide": "div", "TrueDivide": "div"},
    **{"Maximum": "max", "Minimum": "min", "Power": "pow", "Matmul": "matmul"},
}
_UNARY = {
    **{
        "Negative": "neg",
        "Exp": "exp",
        "Log": "log",
        "Sqrt": "sqrt",
        "Rsqrt": "rsqrt",
        "Abs": "abs",
        "Absolute": "abs",
    },
    **{"Sin": "sin", "Cos": "cos", "Erf": "erf"},
}
_ACTIVATIONS = {
    **{"Relu": "relu", "Relu6": "relu6", "Sigmoid": "sigmoid", "Tanh": "tanh", "Silu": "silu", "Softplus": "softplus"},
    **{"Softsign": "softsign", "HardSigmoid": "hard_sigmoid", "HardSilu": "hard_silu", "Selu": "selu"},
    **{"LogSigmoid": "log_sigmoid"},
}
_REDUCTIONS = {"Mean": "mean", "Sum": "sum", "Max": "amax", "Min": "amin"}


def _operand(c: KerasLayer, value: object, *, first: bool) -> Name | float:
    if isinstance(value, KerasValue):
        return c.first(value) if first else c.last(value)
    if isinstance(value, int | float):
        return value
    raise Refused("found an argument that is neither a tensor nor a number")


def _arguments(c: KerasLayer, count: int) -> list[object]:
    found = [*c.args, *c.kwargs.values()]
    if len(found) != count:
        raise Refused(f"found {len(found)} arguments, expected {count}")
    return found


def _binary(function: str) -> Meaning:
    def meaning(c: KerasLayer) -> KerasValue:
        found = _arguments(c, 2)
        tensors = [one for one in found if isinstance(one, KerasValue)]
        ranks = {len(c.shape(one.name)) for one in tensors}
        first = function != "matmul" and len(ranks) == 1 and any(one.first for one in tensors)
        x, y = (_operand(c, one, first=first) for one in found)
        return KerasValue(c.done(function, x, y), first)

    return meaning


def _unary(function: str) -> Meaning:
    return lambda c: KerasValue(c.done(function, c.x.name), c.x.first)


def _activation(name: str) -> Meaning:
    return lambda c: activate(c, c.x, name, alone=True)


def _reduction(function: str) -> Meaning:
    def meaning(c: KerasLayer) -> KerasValue:
        x, axis = KerasValue(c.last(c.x)), c.options.get("axis")
        listed = [] if axis is None else axis if isinstance(axis, list) else [axis]
        places = [c.axis_of(one, x) for one in listed]
        named = {"keepdim": True} if c.options.flag("keepdims", False) else {}
        return KerasValue(c.done(function, x.name, **({"axis": places} if places else {}), **named))

    return meaning


def _all(table: dict[str, str], made: Callable[[str], Meaning]) -> None:
    for kind, name in table.items():
        operation(kind)(made(name))


_all(_BINARY, _binary)
_all(_UNARY, _unary)
_all(_ACTIVATIONS, _activation)
_all(_REDUCTIONS, _reduction)


@operation("Square")
def square(c: KerasLayer) -> KerasValue:
    return KerasValue(c.done("mul", c.x.name, c.x.name), c.x.first)


@operation("Reshape")
def reshape(c: KerasLayer) -> KerasValue:
    """To a shape whose batch is free or the tensor's own."""
    shape = c.options.get("newshape")
    batch, *rest = c.shape_of(c.x)
    listed = shape if isinstance(shape, list) else []
    sizes = [one for one in listed[1:] if type(one) is int and one >= -1]
    if not listed or listed[0] not in (None, -1, batch) or len(sizes) != len(listed) - 1 or sizes.count(-1) > 1:
        raise Refused(f"newshape: found {shape}, expected sizes behind a free batch")
    return KerasValue(c.done("reshape", c.last(c.x), [batch, *sizes])) if rest != sizes else c.x


@operation("Transpose")
def transpose(c: KerasLayer) -> KerasValue:
    x, axes = KerasValue(c.last(c.x)), c.options.get("axes")
    rank = len(c.shape(x.name))
    order = list(range(rank))[::-1] if axes is None else [c.axis_of(axis, x) for axis in items(axes) or ()]
    return KerasValue(c.done("transpose", x.name, order))
