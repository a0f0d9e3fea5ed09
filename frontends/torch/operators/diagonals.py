"""Diagonals of matrices, windows along an axis, and elements at places of the whole tensor."""

from __future__ import annotations

from collections.abc import Sequence

from npuc.frontends.dsl.syntax import Call, Name
from npuc.frontends.script.moves import transposed
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


def _last(c: Context, x: Tensor, dims: Sequence[int]) -> Tensor:
    """A tensor with some axes moved to its end."""
    moved = [c.axis(axis, x) for axis in dims]
    order = [*(axis for axis in range(len(c.shape(x))) if axis not in moved), *moved]
    return _variable(c, transposed(c, x, order), "transpose")


def _variable(c: Context, value: Tensor | Call, name: str) -> Tensor:
    return c.script.assign(f"{c.layer}.{name}", value) if isinstance(value, Call) else value


def _places(c: Context, count: int, offset: int) -> list[Name]:
    """Rows and columns of a diagonal of so many elements."""
    first = [max(0, -offset), max(0, offset)]
    return [c.let("arange", start + count, start, dtype="i64") for start in first]


@operator("aten.diagonal")
def along_diagonal(c: Context, x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Call:
    whole, rank = _last(c, x, [dim1, dim2]), len(c.shape(x))
    return c.call("index", whole, _places(c, c.result_shape()[-1], offset), [rank - 2, rank - 1])


@operator("aten.linalg_diagonal")
def diagonal_of_matrices(c: Context, x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Call:
    return along_diagonal(c, x, offset, dim1, dim2)


@operator("aten.diag_embed")
def diag_embed(c: Context, x: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor | Call:
    shape, rank = c.result_shape(), len(c.result_shape())
    axes = [dim1 % rank, dim2 % rank]
    order = [*(axis for axis in range(rank) if axis not in axes), *axes]
    zeros = c.let("zeros", [shape[axis] for axis in order], dtype=c.result_element())
    put = c.call("index_put", zeros, _places(c, c.shape(x)[-1], offset), x, [rank - 2, rank - 1])
    if order == sorted(order):
        return put
    return c.call("transpose", c.script.assign(f"{c.layer}.put", put), [order.index(axis) for axis in range(rank)])


@operator("aten.diag")
def diag(c: Context, x: Tensor, diagonal: int = 0) -> Tensor | Call:
    if len(c.shape(x)) == 1:
        return diag_embed(c, x, diagonal)
    return along_diagonal(c, x, diagonal)


@operator("aten.diagflat")
def diagflat(c: Context, x: Tensor, offset: int = 0) -> Tensor | Call:
    return diag_embed(c, x if len(c.shape(x)) == 1 else c.let("reshape", x, [-1]), offset)


@operator("aten.diagonal_scatter")
def diagonal_scatter(
    c: Context, x: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor | Call:
    rank = len(c.shape(x))
    axes = [c.axis(dim1, x), c.axis(dim2, x)]
    order = [*(axis for axis in range(rank) if axis not in axes), *axes]
    places = _places(c, c.shape(src)[-1], offset)
    put = c.call("index_put", _last(c, x, axes), places, c.cast(src, c.element(x)), [rank - 2, rank - 1])
    if order == sorted(order):
        return put
    return c.call("transpose", c.script.assign(f"{c.layer}.put", put), [order.index(axis) for axis in range(rank)])


@operator("aten.trace")
def trace(c: Context, x: Tensor) -> Call:
    count = min(c.shape(x))
    found = c.let("index", x, _places(c, count, 0))
    return c.call("sum", c.cast(found, c.result_element()))


@operator("aten.unfold")
def unfold(c: Context, x: Tensor, dimension: int, size: int, step: int) -> Tensor | Call:
    if not c.shape(x):
        return c.call("reshape", x, [1])
    axis = c.axis(dimension, x)
    count = c.result_shape()[axis]
    places = [i * step + j for i in range(count) for j in range(size)]
    shape = list(c.shape(x))
    parts = c.let("reshape", c.let("index_select", x, places, axis), [*shape[:axis], count, size, *shape[axis + 1 :]])
    order = [one for one in range(len(shape) + 1) if one != axis + 1]
    return parts if axis == len(shape) - 1 else c.call("transpose", parts, [*order, axis + 1])


@operator("aten.im2col")
def im2col(
    c: Context,
    x: Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Call:
    return _windows(c, "unfold", x, [], (kernel_size, dilation, padding, stride))


@operator("aten.col2im")
def col2im(
    c: Context,
    x: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Call:
    return _windows(c, "fold", x, [list(output_size)], (kernel_size, dilation, padding, stride))


def _windows(c: Context, function: str, x: Tensor, sizes: Sequence[list[int]], given: Sequence[Sequence[int]]) -> Call:
    """Windows taken out of an image or added into one, with or without a batch."""
    numbers = [list(one) for one in given]
    if len(c.shape(x)) == (4 if function == "unfold" else 3):
        return c.call(function, x, *sizes, *numbers)
    return c.call("squeeze", c.let(function, c.let("unsqueeze", x, 0), *sizes, *numbers), 0)


@operator("aten.take")
def take(c: Context, x: Tensor, index: Tensor) -> Call:
    return c.call("index_select", c.let("reshape", x, [-1]), index, 0, negative=True)


@operator("aten.take_along_dim")
def take_along_dim(c: Context, x: Tensor, indices: Tensor, dim: int | None = None) -> Call:
    if dim is None:
        return c.call("gather", c.let("reshape", x, [-1]), c.let("reshape", indices, [-1]), 0, negative=True)
    axis, shape = c.axis(dim, x), c.result_shape()
    wide = [*shape[:axis], c.shape(x)[axis], *shape[axis + 1 :]]
    source: Tensor = x if c.shape(x) == tuple(wide) else c.let("expand", x, wide)
    index: Tensor = indices if c.shape(indices) == shape else c.let("expand", indices, list(shape))
    return c.call("gather", source, index, axis, negative=True)


@operator("aten.put")
def put(c: Context, x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Call:
    flat, at = c.let("reshape", x, [-1]), c.let("reshape", index, [-1])
    named = {"reduce": "add"} if accumulate else {}
    whole = c.let("index_put", flat, [at], c.let("reshape", c.cast(source, c.element(x)), [-1]), **named)
    return c.call("reshape", whole, list(c.shape(x)))


@operator("aten.index_reduce")
def index_reduce(
    c: Context, x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool = True
) -> Call:
    known = {"prod": "mul", "amax": "max", "amin": "min"}
    if reduce not in known or not include_self:
        raise Refused(f"found the reduction '{reduce}', include_self={include_self}, which has no counterpart")
    return c.call("index_put", x, [index], source, [c.axis(dim, x)], reduce=known[reduce])
