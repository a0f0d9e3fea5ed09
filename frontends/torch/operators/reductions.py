"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from math import prod as prod_of

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.operators.pointwise import truth
from npuc.frontends.torch.program import Keyword

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
Axes = int | Sequence[int] | None


def reduced(c: Context, function: str, x: Tensor, axes: Axes, keepdim: bool, **named: float) -> Tensor | Call:
    """A reduction over some axes, or all where none are named."""
    listed = None if axes is None or axes == [] else [axes] if isinstance(axes, int) else list(axes)
    if not c.shape(x):
        return x
    over = None if listed is None else [c.axis(axis, x) for axis in listed]
    given = {} if over is None else {"axis": over[0] if len(over) == 1 else over}
    return c.call(function, x, **given, **named, **({"keepdim": True} if keepdim else {}))


@operator("aten.sum")
def sum_(c: Context, x: Tensor, dim: Axes = None, keepdim: bool = False, dtype: Keyword | None = None) -> Tensor | Call:
    return reduced(c, "sum", c.cast(x, c.result_element()), dim, keepdim)


@operator("aten.mean")
def mean(c: Context, x: Tensor, dim: Axes = None, keepdim: bool = False, dtype: Keyword | None = None) -> Tensor | Call:
    return reduced(c, "mean", c.cast(x, c.result_element()), dim, keepdim)


@operator("aten.prod")
def prod(
    c: Context, x: Tensor, dim: int | None = None, keepdim: bool = False, dtype: Keyword | None = None
) -> Tensor | Call:
    return reduced(c, "prod", c.cast(x, c.result_element()), dim, keepdim)


@operator("aten.amax")
def amax(c: Context, x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor | Call:
    return reduced(c, "amax", x, dim, keepdim)


@operator("aten.amin")
def amin(c: Context, x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor | Call:
    return reduced(c, "amin", x, dim, keepdim)


@operator("aten.max.default")
def max_(c: Context, x: Tensor) -> Tensor | Call:
    return reduced(c, "amax", x, None, False)


@operator("aten.min.default")
def min_(c: Context, x: Tensor) -> Tensor | Call:
    return reduced(c, "amin", x, None, False)


@operator("aten.max.other")
def maximum(c: Context, x: Tensor, other: Tensor) -> Call:
    return c.call("max", c.cast(x, c.result_element()), c.cast(other, c.result_element()))


@operator("aten.min.other")
def minimum(c: Context, x: Tensor, other: Tensor) -> Call:
    return c.call("min", c.cast(x, c.result_element()), c.cast(other, c.result_element()))


@operator("aten.argmax")
def argmax(c: Context, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Call:
    return _places(c, "argmax", x, dim, keepdim)


@operator("aten.argmin")
def argmin(c: Context, x: Tensor, dim: int | None = None, keepdim: bool = False) -> Call:
    return _places(c, "argmin", x, dim, keepdim)


def _places(c: Context, function: str, x: Tensor, axis: int | None, keepdim: bool) -> Call:
    named = {} if axis is None else {"axis": c.axis(axis, x)}
    found = c.let(function, x, **named, **({"keepdim": True} if keepdim else {}))
    return c.call("cast", found, to="i64")


@operator("aten.var")
def var(
    c: Context,
    x: Tensor,
    dim: Axes = None,
    unbiased: bool = True,
    correction: float | None = None,
    keepdim: bool = False,
) -> Tensor | Call:
    taken = float(unbiased) if correction is None else float(correction)
    axes = [dim] if isinstance(dim, int) else list(dim or range(len(c.shape(x))))
    count = prod_of(c.shape(x)[axis] for axis in axes)
    if taken.is_integer() and 0 <= taken < count:
        return reduced(c, "var", x, dim, keepdim, correction=int(taken))
    if taken >= count:
        raise Refused(f"found a correction of {taken:g} for {count} elements, expected less")
    plain = _call(reduced(c, "var", x, dim, keepdim, correction=0))
    return c.call("mul", c.script.assign(f"{c.layer}.var", plain), count / (count - taken))


@operator("aten.std")
def std(
    c: Context,
    x: Tensor,
    dim: Axes = None,
    unbiased: bool = True,
    correction: float | None = None,
    keepdim: bool = False,
) -> Call:
    spread = var(c, x, dim, unbiased, correction, keepdim)
    root = spread if isinstance(spread, Tensor) else c.script.assign(f"{c.layer}.variance", spread)
    equal = c.let("equal", root, 0.0)  # there the gradient is 0, that of the root alone has no value
    return c.call("where", equal, 0.0, c.let("sqrt", c.let("where", equal, 1.0, root)))


@operator("aten.linalg_vector_norm", "aten.norm")
def norm(
    c: Context,
    x: Tensor,
    ord: float = 2,
    dim: Axes = None,
    keepdim: bool = False,
    dtype: Keyword | None = None,
    p: float | None = None,
) -> Tensor | Call:
    order, own = ord if p is None else p, c.cast(x, c.result_element())
    if order == 0:
        some = c.let("cast", c.let("not_equal", own, 0.0), to=c.result_element())
        return reduced(c, "sum", some, dim, keepdim)
    if order in (inf, -inf):
        return reduced(c, "amax" if order > 0 else "amin", c.let("abs", own), dim, keepdim)
    if not c.shape(own):
        return c.call("abs", own)
    if order < 0:
        raise Refused(f"found a norm of order {order}, expected an order above 0")
    return reduced(c, "vector_norm", own, dim, keepdim, **({} if order == 2 else {"order": order}))


def _call(value: Tensor | Call) -> Call:
    if not isinstance(value, Call):
        raise Refused("found a scalar, expected axes")
    return value


@operator("aten.cumsum")
def cumsum(c: Context, x: Tensor, dim: int, dtype: Keyword | None = None) -> Tensor | Call:
    return _running(c, "cumsum", c.cast(x, c.result_element()), dim)


def _running(c: Context, function: str, x: Tensor, axis: int) -> Tensor | Call:
    return c.call(function, x, c.axis(axis, x)) if c.shape(x) else x


@operator("aten.cumprod")
def cumprod(c: Context, x: Tensor, dim: int, dtype: Keyword | None = None) -> Tensor | Call:
    return _running(c, "cumprod", c.cast(x, c.result_element()), dim)


@operator("aten.logcumsumexp")
def logcumsumexp(c: Context, x: Tensor, dim: int) -> Tensor | Call:
    return _running(c, "logcumsumexp", x, dim)


@operator("aten.cummax")
def cummax(c: Context, x: Tensor, dim: int) -> list[Tensor]:
    return _with_places(c, c.call("cummax", x, c.axis(dim, x)))


@operator("aten.cummin")
def cummin(c: Context, x: Tensor, dim: int) -> list[Tensor]:
    return _with_places(c, c.call("cummin", x, c.axis(dim, x)))


@operator("aten.logsumexp", "aten.special_logsumexp")
def logsumexp(c: Context, x: Tensor, dim: Axes, keepdim: bool = False) -> Tensor | Call:
    return reduced(c, "logsumexp", c.cast(x, c.result_element()), dim, keepdim)


@operator("aten.any")
def any_(c: Context, x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor | Call:
    return reduced(c, "any", truth(c, x), dim, keepdim)


@operator("aten.all")
def all_(c: Context, x: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor | Call:
    return reduced(c, "all", truth(c, x), dim, keepdim)


@operator("aten.max.dim")
def max_along(c: Context, x: Tensor, dim: int, keepdim: bool = False) -> list[Call]:
    return _extreme(c, "max", x, dim, keepdim)


@operator("aten.min.dim")
def min_along(c: Context, x: Tensor, dim: int, keepdim: bool = False) -> list[Call]:
    return _extreme(c, "min", x, dim, keepdim)


def _extreme(c: Context, kind: str, x: Tensor, axis: int, keepdim: bool) -> list[Call]:
    """The extreme along an axis and its place."""
    return [_call(reduced(c, f"a{kind}", x, axis, keepdim)), _places(c, f"arg{kind}", x, axis, keepdim)]


@operator("aten.topk")
def topk(c: Context, x: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> list[Tensor]:
    named = {} if largest else {"largest": False}
    return _with_places(c, c.call("topk", x, k, axis=c.axis(dim, x), **named))


@operator("aten.sort")
def sort(c: Context, x: Tensor, dim: int = -1, descending: bool = False, stable: bool | None = None) -> list[Tensor]:
    named = {"descending": True} if descending else {}
    return _with_places(c, c.call("sort", x, axis=c.axis(dim, x), **named))


def _with_places(c: Context, call: Call) -> list[Tensor]:
    values, places = c.script.unpacked([c.layer, f"{c.layer}.places"], call)
    return [values, c.cast(places, "i64")]


@operator("aten.argsort")
def argsort(c: Context, x: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Call:
    named = {"descending": True} if descending else {}
    return c.call("cast", c.let("argsort", x, axis=c.axis(dim, x), **named), to="i64")
