"""Pooling and resizing."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
_NAMES = {
    "max": {1: "max_pool1d", 2: "max_pool", 3: "max_pool3d"},
    "avg": {1: "avg_pool1d", 2: "avg_pool", 3: "avg_pool3d"},
}


def _short(values: Sequence[int], axes: int) -> int | list[int]:
    wide = list(values) * axes if len(values) == 1 else list(values)
    return wide[0] if len(set(wide)) == 1 else wide


def _sides(values: Sequence[int], axes: int) -> int | list[int]:
    short = _short(values, axes)
    return short if isinstance(short, int) else [pad for pad in short for _ in range(2)]


def _window(
    axes: int, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int]
) -> dict[str, int | list[int]]:
    named: dict[str, int | list[int]] = {}
    steps = _short(stride, axes) if stride else _short(kernel, axes)
    if steps != _short(kernel, axes):
        named["stride"] = steps
    if _short(padding, axes) != 0:
        named["padding"] = _sides(padding, axes)
    return named


@operator("aten.max_pool1d", "aten.max_pool2d", "aten.max_pool3d")
def max_pool(
    c: Context,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Call:
    axes = len(c.shape(x)) - 2
    named: dict[str, int | list[int] | bool] = {**_window(axes, kernel_size, stride, padding)}
    if _short(dilation, axes) != 1:
        named["dilation"] = _short(dilation, axes)
    if ceil_mode:
        named["ceil_mode"] = True
    return c.call(_NAMES["max"][axes], x, _short(kernel_size, axes), **named)


@operator("aten.avg_pool1d", "aten.avg_pool2d", "aten.avg_pool3d")
def avg_pool(
    c: Context,
    x: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Call:
    if divisor_override is not None:
        raise Refused("found divisor_override, which has no counterpart")
    axes = len(c.shape(x)) - 2
    named: dict[str, int | list[int] | bool] = {**_window(axes, kernel_size, stride, padding)}
    if ceil_mode:
        named["ceil_mode"] = True
    if not count_include_pad:
        named["count_include_pad"] = False
    return c.call(_NAMES["avg"][axes], x, _short(kernel_size, axes), **named)


@operator("aten.adaptive_avg_pool1d", "aten.adaptive_avg_pool2d", "aten.adaptive_avg_pool3d")
def adaptive_avg_pool(c: Context, x: Tensor, output_size: Sequence[int]) -> Call:
    return _adaptive(c, "avg", x)


@operator("aten.adaptive_max_pool1d", "aten.adaptive_max_pool2d", "aten.adaptive_max_pool3d")
def adaptive_max_pool(c: Context, x: Tensor, output_size: Sequence[int]) -> Call:
    return _adaptive(c, "max", x)


def _adaptive(c: Context, kind: str, x: Tensor) -> Call:
    """A pooling to a size: to one place a channel, or to windows."""
    size = c.result_shape()[2:]
    if len(size) == 3:
        return c.call(f"adaptive_{kind}_pool3d", x, _short(size, 3))
    if set(size) == {1}:
        return c.call("reshape", c.let(f"global_{kind}_pool", x), list(c.result_shape()))
    return c.call(f"adaptive_{kind}_pool", x, _short(size, len(size)))


@operator("aten.upsample_nearest2d")
def nearest(
    c: Context,
    x: Tensor,
    output_size: Sequence[int] | None = None,
    scale_factors: Sequence[float] | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Call:
    return c.call("upsample", x, size=_short(c.result_shape()[2:], 2))


@operator("aten.upsample_bilinear2d")
def bilinear(
    c: Context,
    x: Tensor,
    output_size: Sequence[int] | None = None,
    align_corners: bool = False,
    scale_factors: Sequence[float] | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Call:
    named = {"align_corners": True} if align_corners else {}
    return c.call("upsample", x, size=_short(c.result_shape()[2:], 2), mode="bilinear", **named)
