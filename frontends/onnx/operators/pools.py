"""Pooling."""

from __future__ import annotations

from npuc.frontends.onnx.context import OnnxContext, short
from npuc.frontends.onnx.operators import Meaning, Result, registry
from npuc.frontends.onnx.operators.patches import average, largest, max_with_places, norm
from npuc.frontends.onnx.parts.windows import Window, both_sides, window_of

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


_SUFFIXES = {1: "1d", 2: "", 3: "3d"}
"""How the functions that pool some number of axes are called."""


def _pooled(c: OnnxContext, kind: str, window: Window, **named: bool) -> Result:
    axes = len(window.kernel)
    if axes not in _SUFFIXES:
        raise c.error(f"pools {axes} axes, which has no counterpart")
    options: dict[str, int | list[int]] = {}
    if window.strides != window.kernel:
        options["stride"] = short(window.strides)
    if any(window.pads):
        options["padding"] = both_sides(window.pads)
    if kind == "max" and set(window.dilations) != {1}:
        options["dilation"] = short(window.dilations)
    given = {**named, **({"ceil_mode": True} if c.onnx.int("ceil_mode") else {})}
    return c.call(f"{kind}_pool{_SUFFIXES[axes]}", c.x(), short(window.kernel), **options, **given)


@operator("MaxPool")
def max_pool(c: OnnxContext) -> Result:
    window = window_of(c, c.tensor(0).shape[2:], ())
    if any(c.onnx.outputs[1:]):
        return max_with_places(c, window)
    return largest(c, window) if _is_beyond(window) else _pooled(c, "max", window)


@operator("AveragePool")
def average_pool(c: OnnxContext) -> Result:
    window = window_of(c, c.tensor(0).shape[2:], ())
    if set(window.dilations) != {1} or _is_beyond(window):
        return average(c, window)
    counted = c.onnx.int("count_include_pad") != 0 or not any(window.pads)
    return _pooled(c, "avg", window, **({} if counted else {"count_include_pad": False}))


def _is_beyond(window: Window) -> bool:
    """Whether a window may lie more than half in its padding, which the language's own functions do not have."""
    axes = len(window.kernel)
    return any(2 * pad > window.kernel[n % axes] for n, pad in enumerate(window.pads)) or axes > max(_SUFFIXES)


@operator("LpPool")
def norm_pool(c: OnnxContext) -> Result:
    return norm(c, window_of(c, c.tensor(0).shape[2:], ()))


@operator("GlobalAveragePool")
def global_average_pool(c: OnnxContext) -> Result:
    return _global(c, "avg", "mean")


@operator("GlobalMaxPool")
def global_max_pool(c: OnnxContext) -> Result:
    return _global(c, "max", "amax")


def _global(c: OnnxContext, kind: str, function: str) -> Result:
    x = c.x()
    shape = c.shape(x)
    if len(shape) not in (3, 4):
        return c.call(function, x, axis=list(range(2, len(shape))), keepdim=True)
    return c.call("reshape", c.let(f"global_{kind}_pool", x), [*shape[:2], *[1] * (len(shape) - 2)])
