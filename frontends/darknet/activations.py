"""The activations of darknet (its activations.h) as calls of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuc.frontends.script.weights import Refused

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Call, Name
    from npuc.frontends.script.writer import CallWriter

_CALLS: dict[str, tuple[str, dict[str, float | str]]] = {
    "logistic": ("sigmoid", {}),
    "relu": ("relu", {}),
    "relu6": ("relu6", {}),
    "leaky": ("leaky_relu", {"negative_slope": 0.1}),
    "relie": ("leaky_relu", {"negative_slope": 0.01}),
    "tanh": ("tanh", {}),
    "elu": ("elu", {}),
    "selu": ("selu", {}),
    "gelu": ("gelu", {"approximate": "tanh"}),
    "swish": ("silu", {}),
    "mish": ("mish", {}),
    "hardtan": ("hardtanh", {}),
}
ACTIVATIONS = ("linear", *_CALLS, "loggy", "ramp")
"""The names that are read."""


def activated(c: CallWriter, name: str, x: Name) -> Call | Name:
    """An activation of a value, by its name; the value itself for `linear`. Raises `Refused`."""
    match name:
        case "linear":
            return x
        case "loggy":  # 2 / (1 + exp(-x)) - 1
            return c.call("sub", c.let("mul", c.let("sigmoid", x), 2.0), 1.0)
        case "ramp":  # x (x > 0) + 0.1 x
            return c.call("add", c.let("relu", x), c.let("mul", x, 0.1))
        case _ if name in _CALLS:
            function, named = _CALLS[name]
            return c.call(function, x, **named)
        case _:
            raise Refused(
                f"found the activation '{name}', which has no counterpart", f"known: {', '.join(ACTIVATIONS)}"
            )
