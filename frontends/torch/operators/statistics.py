"""Means and spreads together, elements by their rank, and reductions that leave out what is no number."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import FLOATS, Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.operators.reductions import Axes, reduced, std, var
from npuc.frontends.torch.program import Keyword

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def _with_mean(spread: Meaning) -> Meaning:
    def meaning(
        c: Context,
        x: Tensor,
        dim: Axes = None,
        unbiased: bool = True,
        correction: float | None = None,
        keepdim: bool = False,
    ) -> list[Tensor | Call]:
        first = spread(c, x, dim, unbiased, correction, keepdim)
        return [first, reduced(c, "mean", x, dim, keepdim)]

    return meaning


MEANINGS["aten.var_mean"] = _with_mean(var)
MEANINGS["aten.std_mean"] = _with_mean(std)


@operator("aten.aminmax")
def aminmax(c: Context, x: Tensor, dim: int | None = None, keepdim: bool = False) -> list[Tensor | Call]:
    return [reduced(c, function, x, dim, keepdim) for function in ("amin", "amax")]


@operator("aten.count_nonzero")
def count_nonzero(c: Context, x: Tensor, dim: Axes = None) -> Tensor | Call:
    some: Tensor = x if c.element(x) == "bool" else c.let("not_equal", x, 0)
    return reduced(c, "sum", c.cast(some, "i64"), dim, False)


def _numbers(c: Context, x: Tensor) -> tuple[Tensor, Tensor]:
    """A tensor with 0 in place of what is no number, and where that is."""
    element = c.result_element()
    own = c.cast(x, element)
    missing = c.let("isnan", own)
    return c.let("where", missing, c.let("full", [], 0.0, dtype=element), own), missing


@operator("aten.nansum")
def nansum(
    c: Context, x: Tensor, dim: Axes = None, keepdim: bool = False, dtype: Keyword | None = None
) -> Tensor | Call:
    if c.element(x) not in FLOATS:
        return reduced(c, "sum", c.cast(x, c.result_element()), dim, keepdim)
    return reduced(c, "sum", _numbers(c, x)[0], dim, keepdim)


@operator("aten.nanmean")
def nanmean(
    c: Context, x: Tensor, dim: Axes = None, keepdim: bool = False, dtype: Keyword | None = None
) -> Tensor | Call:
    if not c.shape(x):
        return x
    numbers, missing = _numbers(c, x)
    total = reduced(c, "sum", numbers, dim, keepdim)
    known = c.let("cast", c.let("logical_not", missing), to=c.result_element())
    count = reduced(c, "sum", known, dim, keepdim)
    named = [c.script.assign(f"{c.layer}.sum", one) if isinstance(one, Call) else one for one in (total, count)]
    return c.call("div", *named)


@operator("aten.msort")
def msort(c: Context, x: Tensor) -> Tensor:
    return c.script.unpacked([c.layer, f"{c.layer}.places"], c.call("sort", x, axis=0))[0]


@operator("aten.kthvalue")
def kthvalue(c: Context, x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> list[Tensor | Call]:
    return _ranked(c, x, k - 1, dim, keepdim)


def _ranked(c: Context, x: Tensor, rank: int, dim: int, keepdim: bool) -> list[Tensor | Call]:
    """The element of a rank along an axis, and its place."""
    if not c.shape(x):
        return [x, c.call("zeros", [], dtype="i64")]
    axis = c.axis(dim, x)
    values, places = c.script.unpacked([f"{c.layer}.sorted", f"{c.layer}.places"], c.call("sort", x, axis=axis))
    one, place = (c.let("slice", found, axis, rank, rank + 1) for found in (values, places))
    if keepdim:
        return [one, c.cast(place, "i64")]
    return [c.call("squeeze", one, axis), c.call("cast", c.let("squeeze", place, axis), to="i64")]


@operator("aten.median.dim")
def median_along(c: Context, x: Tensor, dim: int, keepdim: bool = False) -> list[Tensor | Call]:
    size = c.shape(x)[c.axis(dim, x)] if c.shape(x) else 1
    return _ranked(c, x, (size - 1) // 2, dim, keepdim)


@operator("aten.median.default")
def median(c: Context, x: Tensor) -> Tensor | Call:
    if not c.shape(x):
        return x
    flat = c.let("reshape", x, [-1])
    return _ranked(c, flat, (c.shape(flat)[0] - 1) // 2, 0, False)[0]


@operator("aten.quantile.scalar")
def quantile(
    c: Context, x: Tensor, q: float, dim: int | None = None, keepdim: bool = False, interpolation: str = "linear"
) -> Tensor | Call:
    if not c.shape(x):
        return x
    flat: Tensor = c.let("reshape", x, [-1]) if dim is None else x
    axis = 0 if dim is None else c.axis(dim, x)
    place = q * (c.shape(flat)[axis] - 1)
    low = floor(place)
    high = min(low + 1, c.shape(flat)[axis] - 1)
    share = {"lower": 0.0, "higher": float(place > low), "midpoint": 0.5 * (place > low), "linear": place - low}
    if interpolation not in share:
        raise Refused(f"found the interpolation '{interpolation}', expected one of {', '.join(share)}")
    values, _ = c.script.unpacked([f"{c.layer}.sorted", f"{c.layer}.places"], c.call("sort", flat, axis=axis))
    below, above = (c.let("slice", values, axis, one, one + 1) for one in (low, high))
    found = c.let("add", below, c.let("mul", c.let("sub", above, below), share[interpolation]))
    return c.call("reshape", found, list(c.result_shape()))


@operator("aten.renorm")
def renorm(c: Context, x: Tensor, p: float, dim: int, maxnorm: float) -> Call:
    axes: Sequence[int] = [axis for axis in range(len(c.shape(x))) if axis != c.axis(dim, x)]
    named = {} if p == 2 else {"order": p}
    length = c.let("vector_norm", x, axis=list(axes), keepdim=True, **named)
    scale = c.let("div", maxnorm, c.let("add", length, 1e-7))
    return c.call("mul", x, c.let("where", c.let("greater", length, maxnorm), scale, 1.0))
