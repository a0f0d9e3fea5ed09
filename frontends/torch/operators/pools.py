"""Pooling and resizing."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, prod

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
Option = int | list[int] | bool
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


def _batched(c: Context, x: Tensor, axes: int) -> tuple[Tensor, bool]:
    """A tensor with a batch, and whether it had one."""
    with_batch = len(c.shape(x)) == axes + 2
    return (x, True) if with_batch else (c.let("unsqueeze", x, 0), False)


def _pooled(c: Context, function: str, axes: int, x: Tensor, *arguments: Option, **named: Option) -> Call:
    """A pooling of a batch, or of one image without its batch."""
    whole, with_batch = _batched(c, x, axes)
    if with_batch:
        return c.call(function, whole, *arguments, **named)
    return c.call("squeeze", c.let(function, whole, *arguments, **named), 0)


def _max_pool(axes: int) -> Meaning:
    def meaning(
        c: Context,
        x: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> Call:
        named: dict[str, Option] = {**_window(axes, kernel_size, stride, padding)}
        if _short(dilation, axes) != 1:
            named["dilation"] = _short(dilation, axes)
        if ceil_mode:
            named["ceil_mode"] = True
        return _pooled(c, _NAMES["max"][axes], axes, x, _short(kernel_size, axes), **named)

    return meaning


def _avg_pool(axes: int) -> Meaning:
    def meaning(
        c: Context,
        x: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Call:
        named: dict[str, Option] = {**_window(axes, kernel_size, stride, padding)}
        if ceil_mode:
            named["ceil_mode"] = True
        if not count_include_pad and divisor_override is None:
            named["count_include_pad"] = False
        function, kernel = _NAMES["avg"][axes], _short(kernel_size, axes)
        if divisor_override is None:
            return _pooled(c, function, axes, x, kernel, **named)
        if ceil_mode:
            raise Refused("found divisor_override with windows that reach beyond the border (ceil_mode)")
        size = kernel**axes if isinstance(kernel, int) else prod(kernel)
        mean = c.script.assign(f"{c.layer}.mean", _pooled(c, function, axes, x, kernel, **named))
        return c.call("mul", mean, size / divisor_override)

    return meaning


for _axes in (1, 2, 3):
    MEANINGS[f"aten.max_pool{_axes}d"] = _max_pool(_axes)
    MEANINGS[f"aten.avg_pool{_axes}d"] = _avg_pool(_axes)


def _adaptive(kind: str, axes: int) -> Meaning:
    """A pooling to a size: to one place a channel, or to windows."""

    def meaning(c: Context, x: Tensor, output_size: Sequence[int]) -> Call:
        size = c.result_shape()[-axes:]
        if axes == 3:
            return _pooled(c, f"adaptive_{kind}_pool3d", axes, x, _short(size, 3))
        if set(size) == {1}:
            whole, _ = _batched(c, x, axes)
            return c.call("reshape", c.let(f"global_{kind}_pool", whole), list(c.result_shape()))
        return _pooled(c, f"adaptive_{kind}_pool", axes, x, _short(size, axes))

    return meaning


for _axes in (1, 2, 3):
    MEANINGS[f"aten.adaptive_avg_pool{_axes}d"] = _adaptive("avg", _axes)
    MEANINGS[f"aten.adaptive_max_pool{_axes}d"] = _adaptive("max", _axes)


def _resize(mode: str) -> Meaning:
    """Resizing to the size that the file tells, by scales where it has them: they say where rows and columns lie."""

    def meaning(
        c: Context,
        x: Tensor,
        output_size: Sequence[int] | None = None,
        align_corners: bool = False,
        scale_factors: Sequence[float] | None = None,
        scales: float | None = None,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Call:
        out, before = c.result_shape()[2:], c.shape(x)[2:]
        given = [scales] if len(out) == 1 else [scales_d, scales_h, scales_w][-len(out) :]
        factors = list(scale_factors) if scale_factors is not None else given
        named: dict[str, str | bool] = {} if mode == "nearest" else {"mode": mode.removesuffix(" smooth")}
        if align_corners:
            named["align_corners"] = True
        if mode.endswith(" smooth"):
            named["antialias"] = True
        if align_corners or all(factor is None for factor in factors):
            return c.call("upsample", x, size=_short(out, len(out)), **named)
        known = [factor if factor is not None else new / old for factor, new, old in zip(factors, out, before)]
        if [floor(old * factor) for factor, old in zip(known, before)] != list(out):
            raise Refused(f"found the size {list(out)} beside the scales {factors}, expected the size that they make")
        return c.call("upsample", x, scale=known[0] if len(set(known)) == 1 else known, **named)

    return meaning


for _name, _mode in (("linear1d", "linear"), ("bilinear2d", "bilinear"), ("trilinear3d", "trilinear")):
    MEANINGS[f"aten.upsample_{_name}"] = _resize(_mode)
MEANINGS["aten.upsample_bicubic2d"] = _resize("bicubic")
MEANINGS["aten._upsample_bilinear2d_aa"] = _resize("bilinear smooth")
MEANINGS["aten._upsample_bicubic2d_aa"] = _resize("bicubic smooth")
for _axes in (1, 2, 3):
    MEANINGS[f"aten.upsample_nearest{_axes}d"] = _resize("nearest")
    MEANINGS[f"aten._upsample_nearest_exact{_axes}d"] = _resize("nearest-exact")


@operator("aten.grid_sampler", "aten.grid_sampler_2d", "aten.grid_sampler_3d")
def grid_sampler(
    c: Context, x: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Call:
    named: dict[str, str | bool] = {}
    if interpolation_mode:
        named["mode"] = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    if padding_mode:
        named["padding"] = ("zeros", "border", "reflection")[padding_mode]
    return c.call("grid_sample", x, grid, **named, **({"align_corners": True} if align_corners else {}))
