"""The activations of Keras by their names, as layers have them and as layers of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from npuc.frontends.keras.values import KerasValue
from npuc.frontends.script.weights import Refused

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Call, Name
    from npuc.frontends.keras.layer import KerasLayer

_FUNCTIONS: Mapping[str, tuple[str, dict[str, float | str]]] = {
    "relu": ("relu", {}),
    "relu6": ("relu6", {}),
    "sigmoid": ("sigmoid", {}),
    "tanh": ("tanh", {}),
    "softplus": ("softplus", {}),
    "softsign": ("softsign", {}),
    "elu": ("elu", {}),
    "selu": ("selu", {}),
    "celu": ("celu", {}),
    "gelu": ("gelu", {}),
    "swish": ("silu", {}),
    "silu": ("silu", {}),
    "mish": ("mish", {}),
    "exponential": ("exp", {}),
    "hard_swish": ("hard_swish", {}),
    "hard_silu": ("hard_swish", {}),
    "hard_tanh": ("hardtanh", {}),
    "hard_shrink": ("hardshrink", {}),
    "soft_shrink": ("softshrink", {}),
    "tanh_shrink": ("tanhshrink", {}),
    "log_sigmoid": ("log_sigmoid", {}),
    "leaky_relu": ("leaky_relu", {"negative_slope": 0.2}),
}


def _hard_sigmoid(c: KerasLayer, x: Name) -> Call:
    """relu6(x + 3) / 6; Keras 2 has 0.2 x + 0.5 within [0, 1]."""
    if c.version >= 3:
        return c.call("hard_sigmoid", x)
    return c.call("clip", c.let("add", c.let("mul", x, 0.2), 0.5), 0.0, 1.0)


def _squareplus(c: KerasLayer, x: Name) -> Call:
    """(x + sqrt(x^2 + 4)) / 2."""
    root = c.let("sqrt", c.let("add", c.let("mul", x, x), 4.0))
    return c.call("div", c.let("add", x, root), 2.0)


def _sparse_plus(c: KerasLayer, x: Name) -> Call:
    """0 to -1, (x + 1)^2 / 4 to 1, x from there."""
    near = c.let("add", c.let("clip", x, -1.0, 1.0), 1.0)
    return c.call("add", c.let("div", c.let("mul", near, near), 4.0), c.let("relu", c.let("sub", x, 1.0)))


_COMPOSED: Mapping[str, Callable[[KerasLayer, Any], Call]] = {
    "hard_sigmoid": _hard_sigmoid,
    "squareplus": _squareplus,
    "sparse_plus": _sparse_plus,
}
ACTIVATIONS = ("linear", "softmax", "log_softmax", *_FUNCTIONS, *_COMPOSED)
"""The names that are read."""


def name_of(spec: object) -> str:
    """The name of an activation as a file has it: a text, or an object of Keras 3. Raises `Refused`."""
    if spec is None:
        return "linear"
    if isinstance(spec, str):
        return spec
    if isinstance(spec, Mapping):
        known = cast("Mapping[str, object]", spec)
        config = known.get("config")
        if known.get("class_name") == "function" and isinstance(config, str):
            return config
        if known.get("class_name") == "Lambda":
            raise Refused("found an activation of Python code, which is not executed")
        raise Refused(f"activation: found {known.get('class_name')}, expected the name of an activation")
    raise Refused("activation: found no name")


def activate(c: KerasLayer, value: KerasValue, spec: object, *, alone: bool = False) -> KerasValue:
    """The activation of a value; `alone`: it is all that its layer does."""
    name = name_of(spec)
    if name == "linear":
        return value
    call = activation_call(c, value, name)
    made = c.script.assign(c.layer if alone else f"{c.layer}.{call.function}", call)
    softmax_of = value if name == "softmax" else None
    return KerasValue(made, value.first, softmax_of, is_sigmoid=name == "sigmoid")


def activation_call(c: KerasLayer, value: KerasValue, name: str) -> Call:
    """The call of an activation by its name. Raises `Refused`."""
    x = value.name
    if name in ("softmax", "log_softmax"):
        axis = c.place(len(c.shape(x)) - 1, value)
        return c.call(name, x, **({} if axis == len(c.shape(x)) - 1 else {"axis": axis}))
    if name in _FUNCTIONS:
        function, named = _FUNCTIONS[name]
        return c.call(function, x, **named)
    if name in _COMPOSED:
        return _COMPOSED[name](c, x)
    raise Refused(f"found the activation '{name}', which has no counterpart", f"known: {', '.join(ACTIVATIONS)}")
