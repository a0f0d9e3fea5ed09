"""Picking and putting elements at indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.distinct import places_of
from npuc.frontends.script.recognise.matching import uncast
from npuc.frontends.script.weights import Refused, Tensor, Weight
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry
from npuc.frontends.torch.operators.selection import chosen

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)
Indices = Sequence[Tensor | None]
Source = Tensor | int | float | bool
_REDUCTIONS = {"add": "add", "multiply": "mul", "sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@operator("aten.index_select")
def index_select(c: Context, x: Tensor, dim: int, index: Tensor) -> Call:
    return c.call("index_select", x, index, c.axis(dim, x))


@operator("aten.gather")
def gather(c: Context, x: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Call:
    return c.call("gather", x, index, c.axis(dim, x))


@operator("aten.index.Tensor")
def index(c: Context, x: Tensor, indices: Indices) -> Call:
    masked = _mask(c, indices)
    if masked is not None:
        return chosen(c, x, masked[1], masked[0], c.result_shape()[masked[0]])
    given = _given(c, indices)
    known = _known(c, x, given)
    if known is not None:
        return known
    if len(given) == 1 and len(c.shape(given[0][1])) == 1:
        ((axis, places),) = given
        return (
            c.call("index", x, [places], [axis])
            if _may_be_negative(c, places)
            else c.call("index_select", x, places, axis)
        )
    return c.call("index", x, [places for _, places in given], [axis for axis, _ in given])


def _given(c: Context, indices: Indices) -> list[tuple[int, Tensor]]:
    """The axes that are indexed, each with its index. Raises `Refused` for masks among them."""
    given = [(axis, one) for axis, one in enumerate(indices) if one is not None]
    if any(c.element(one) == "bool" for _, one in given):
        raise Refused("found a mask among several indices, which is not read", "torch.nonzero gives its places")
    return given


def _mask(c: Context, indices: Indices) -> tuple[int, Tensor] | None:
    """The first axis of the one mask that is the index, and the mask; None for other indices."""
    given = [(axis, one) for axis, one in enumerate(indices) if one is not None]
    return given[0] if len(given) == 1 and c.element(given[0][1]) == "bool" else None


def _may_be_negative(c: Context, places: Tensor) -> bool:
    known = c.numbers(places)
    return known is None or bool((known < 0).any())


def _known(c: Context, x: Tensor, given: Sequence[tuple[int, Tensor]]) -> Call | None:
    """The result where all of it is known while the graph is read, and few enough to list."""
    whole = c.numbers(x)
    values = [c.numbers(one) for _, one in given]
    if whole is None or any(value is None for value in values):
        return None
    places = tuple(np.asarray(value).astype(np.int64) for value in values)
    axes = [axis for axis, _ in given]
    if axes != list(range(len(axes))):
        return None
    return c.listed(np.asarray(whole[places]), c.result_element())


@operator("aten.index_put", "aten._index_put_impl")
def index_put(
    c: Context, x: Tensor, indices: Indices, values: Tensor, accumulate: bool = False, unsafe: bool = False
) -> Call:
    masked = _mask(c, indices)
    named = {"reduce": "add"} if accumulate else {}
    if masked is not None:
        return _masked(c, x, masked, values, named)
    given = _given(c, indices)
    places, axes = [one for _, one in given], [axis for axis, _ in given]
    return c.call("index_put", x, places, c.cast(values, c.element(x)), axes, **named)


def _masked(c: Context, x: Tensor, masked: tuple[int, Tensor], values: Tensor, named: Mapping[str, str]) -> Call:
    """A tensor with values where a mask of some of its axes is true: the same at all its places, or one for each."""
    first, mask = masked
    behind = len(c.shape(x)) - first - len(c.shape(mask))
    shape, value = c.shape(values), c.cast(values, c.element(x))
    place = len(shape) - 1 - behind
    if place >= 0 and shape[place] > 1:
        places = places_of(c, mask, shape[place])
        return c.call("index_put", x, places, value, [first + number for number in range(len(places))], **named)
    sizes = [*c.shape(mask), *[1] * behind]
    wide: Tensor = mask if sizes == list(c.shape(mask)) else c.let("reshape", mask, sizes)
    if place >= 0:
        value = c.let("reshape", value, [*shape[:place], *[1] * len(c.shape(mask)), *shape[place + 1 :]])
    return c.call("where", wide, c.let("add", x, value) if named else value, x)


def _source(c: Context, x: Tensor, value: Source) -> Source:
    return value if isinstance(value, int | float | bool) else c.cast(value, c.element(x))


@operator("aten.scatter.src", "aten.scatter.value", "aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter(
    c: Context,
    x: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | None = None,
    value: float | None = None,
    reduce: str | None = None,
) -> Call:
    given = src if src is not None else value
    if given is None:
        raise Refused("found nothing to scatter")
    named = {} if reduce is None else {"reduce": _REDUCTIONS.get(reduce, reduce)}
    return c.call("scatter", x, index, _source(c, x, given), c.axis(dim, x), **named)


@operator("aten.scatter_add")
def scatter_add(c: Context, x: Tensor, dim: int, index: Tensor, src: Tensor) -> Call:
    return c.call("scatter", x, index, c.cast(src, c.element(x)), c.axis(dim, x), reduce="add")


@operator("aten.scatter_reduce.two")
def scatter_reduce(
    c: Context, x: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Call:
    if reduce not in _REDUCTIONS or not include_self:
        raise Refused(f"found the reduction '{reduce}', include_self={include_self}, which has no counterpart")
    return c.call("scatter", x, index, c.cast(src, c.element(x)), c.axis(dim, x), reduce=_REDUCTIONS[reduce])


@operator("aten.index_add")
def index_add(c: Context, x: Tensor, dim: int, index: Tensor, source: Tensor, alpha: float = 1) -> Call:
    added = source if alpha == 1 else c.let("mul", source, alpha)
    return c.call("index_put", x, [index], c.cast(added, c.element(x)), [c.axis(dim, x)], reduce="add")


@operator("aten.index_copy")
def index_copy(c: Context, x: Tensor, dim: int, index: Tensor, source: Tensor) -> Call:
    return c.call("index_put", x, [index], c.cast(source, c.element(x)), [c.axis(dim, x)])


@operator("aten.index_fill.int_Scalar")
def index_fill(c: Context, x: Tensor, dim: int, index: Tensor, value: float) -> Call:
    return c.call("index_put", x, [index], value, [c.axis(dim, x)])


@operator("aten.histc")
def histc(c: Context, x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Call:
    if min >= max:
        raise Refused(f"found a histogram from {min} to {max}, whose ends depend on data or are none")
    integers = uncast(c, x)
    if (min, max) == (0, bins - 1) and c.element(integers) in ("i8", "i32", "i64"):  # each number is its bin
        places = c.let("reshape", c.cast(integers, "i64"), [-1])
        return c.call("sum", c.let("one_hot", places, bins, dtype=c.result_element()), axis=0)
    flat = c.let("reshape", x, [-1])
    inside = c.let("logical_and", c.let("greater_equal", flat, min), c.let("less_equal", flat, max))
    along = c.let("div", c.let("mul", c.let("sub", flat, min), float(bins)), float(max - min))
    places = c.cast(c.let("clip", c.let("floor", along), low=0.0, high=bins - 1.0), "i64")
    hot = c.let("one_hot", places, bins, dtype=c.result_element())
    counted = c.let("unsqueeze", c.let("cast", inside, to=c.result_element()), 1)
    return c.call("sum", c.let("mul", hot, counted), axis=0)


@operator("aten._grouped_mm", "transformers.grouped_mm_fallback")
def grouped_mm(
    c: Context,
    x: Tensor,
    mat2: Tensor | None = None,
    weight: Tensor | None = None,
    offs: Tensor | None = None,
    bias: None = None,
    out_dtype: None = None,
) -> Call:
    y = mat2 if mat2 is not None else weight
    if y is None or offs is None or len(c.shape(x)) != 2 or len(c.shape(y)) != 3:
        raise Refused("found no rows in groups, each with a matrix")
    return c.call("grouped_mm", x, y, offs)


@operator("aten.embedding_bag", "aten._embedding_bag")
def embedding_bag(
    c: Context,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> list[Call]:
    stored = isinstance(offsets, Weight) and offsets.read is not None
    known = c.numbers(c.variable(offsets) if stored else offsets)
    if known is None or scale_grad_by_freq or (padding_idx is not None and padding_idx >= 0):
        raise Refused("found bags that depend on data, or a padding index, expected constant offsets")
    count = c.shape(indices)[0]
    starts: list[int] = [int(start) for start in known]
    sizes = [end - start for start, end in pairwise(starts if include_last_offset else [*starts, count])]
    if min(sizes) < 1 or sum(sizes) != count:
        raise Refused("found an empty bag, expected at least one index in each")
    if len(set(sizes)) > 1:
        return [_ragged(c, weight, indices, sizes, mode, per_sample_weights)]
    named: dict[str, Tensor | str] = {"weight": weight, "mode": ("sum", "mean", "max")[mode]}
    if per_sample_weights is not None:
        named["per_sample_weights"] = c.let("reshape", per_sample_weights, [len(sizes), sizes[0]])
    return [c.call("embedding_bag", c.let("reshape", indices, [len(sizes), sizes[0]]), **named)]


def _ragged(
    c: Context, weight: Tensor, indices: Tensor, sizes: Sequence[int], mode: int, shares: Tensor | None
) -> Call:
    """The sums or means of rows in bags of unlike sizes: each row is added to its bag's."""
    if mode > 1:
        raise Refused("found the maxima of bags of unlike sizes, expected sums or means")
    rows = c.let("embedding", indices, weight=weight)
    if shares is not None:
        rows = c.let("mul", rows, c.let("unsqueeze", shares, 1))
    bags = c.script.assign(f"{c.layer}.bags", c.listed(np.repeat(np.arange(len(sizes)), sizes), "i64"))
    zeros = c.let("zeros", [len(sizes), c.shape(weight)[1]], dtype=c.element(weight))
    total = c.call("index_put", zeros, [bags], rows, reduce="add")
    if mode == 0:
        return total
    counts = c.script.assign(f"{c.layer}.counts", c.listed(np.array(sizes, float).reshape(-1, 1), c.element(weight)))
    return c.call("div", c.script.assign(f"{c.layer}.total", total), counts)
