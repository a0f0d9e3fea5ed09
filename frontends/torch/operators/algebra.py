"""Products and distances of vectors and matrices that the language spells out."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

from npuc.frontends.dsl.syntax import Call
from npuc.frontends.script.moves import matrix_product
from npuc.frontends.script.weights import Refused, Tensor
from npuc.frontends.torch.context import Context
from npuc.frontends.torch.operators import Meaning, registry

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("aten.outer", "aten.ger")
def outer(c: Context, x: Tensor, vec2: Tensor) -> Call:
    rows = c.let("reshape", c.cast(x, c.result_element()), [c.shape(x)[0], 1])
    return c.call("mul", rows, c.cast(vec2, c.result_element()))


@operator("aten.vdot")
def vdot(c: Context, x: Tensor, other: Tensor) -> Call:
    return c.call("sum", c.let("mul", x, other))


@operator("aten.linalg_vecdot")
def vecdot(c: Context, x: Tensor, y: Tensor, dim: int = -1) -> Call:
    return c.call("sum", c.let("mul", x, y), axis=dim)


@operator("aten.inner")
def inner(c: Context, x: Tensor, other: Tensor) -> Call:
    a, b = c.shape(x), c.shape(other)
    if not a or not b:
        return c.call("mul", x, other)
    return _contracted(c, x, other, [len(a) - 1], [len(b) - 1])


@operator("aten.tensordot")
def tensordot(c: Context, x: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Call:
    left = [c.axis(axis, x) for axis in dims_self]
    right = [c.axis(axis, other) for axis in dims_other]
    return _contracted(c, x, other, left, right)


def _contracted(c: Context, x: Tensor, y: Tensor, left: Sequence[int], right: Sequence[int]) -> Call:
    """The product of two tensors summed over some axes of both, as one product of matrices."""
    a, b = c.shape(x), c.shape(y)
    rows = [axis for axis in range(len(a)) if axis not in left]
    columns = [axis for axis in range(len(b)) if axis not in right]
    depth = prod(a[axis] for axis in left)
    matrix = _matrix(c, x, [*rows, *left], [prod(a[axis] for axis in rows), depth])
    other = _matrix(c, y, [*right, *columns], [depth, prod(b[axis] for axis in columns)])
    return c.call("reshape", c.let("matmul", matrix, other), list(c.result_shape()))


def _matrix(c: Context, x: Tensor, order: Sequence[int], shape: Sequence[int]) -> Tensor:
    moved: Tensor = x if list(order) == sorted(order) else c.let("transpose", x, list(order))
    return moved if c.shape(moved) == tuple(shape) else c.let("reshape", moved, list(shape))


@operator("aten.linalg_multi_dot", "aten.chain_matmul")
def multi_dot(c: Context, tensors: Sequence[Tensor] = (), matrices: Sequence[Tensor] = ()) -> Tensor | Call:
    whole, *rest = [*tensors, *matrices]
    if len(c.shape(whole)) == 1:
        whole = c.let("unsqueeze", whole, 0)
    for number, one in enumerate(rest):
        factor: Tensor = c.let("unsqueeze", one, 1) if len(c.shape(one)) == 1 else one
        step = matrix_product(c, whole, factor)
        if number == len(rest) - 1 and len(c.result_shape()) == 2:
            return step
        whole = c.script.assign(f"{c.layer}.matmul", step)
    return whole if c.shape(whole) == c.result_shape() else c.call("reshape", whole, list(c.result_shape()))


@operator("aten.linalg_matrix_power", "aten.matrix_power")
def matrix_power(c: Context, x: Tensor, n: int) -> Tensor | Call:
    if not 1 <= n <= 64:
        raise Refused(f"found the power {n} of a matrix, expected 1 to 64")
    whole: Tensor = x
    for _ in range(n - 1):
        whole = c.let("matmul", whole, x)
    return whole


@operator("aten.cross", "aten.linalg_cross")
def cross(c: Context, x: Tensor, other: Tensor, dim: int | None = -1) -> Call:
    shape = c.result_shape()
    if dim is None:
        dim = shape.index(3)
    axis = dim % len(shape)
    turned = [[c.let("roll", one, by, axis - len(shape)) for by in (-1, -2)] for one in (x, other)]
    return c.call("sub", c.let("mul", turned[0][0], turned[1][1]), c.let("mul", turned[0][1], turned[1][0]))


@operator("aten.bilinear")
def bilinear(c: Context, input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Call:
    lead = prod(c.shape(input1)[:-1])
    a, b = (_shaped(c, one, [lead, c.shape(one)[-1]]) for one in (input1, input2))
    out = c.let("einsum", "bi,oij,bj->bo", [a, weight, b])
    whole = c.call("reshape", out, list(c.result_shape()))
    return whole if bias is None else c.call("add", c.script.assign(f"{c.layer}.product", whole), bias)


def _shaped(c: Context, x: Tensor, shape: Sequence[int]) -> Tensor:
    return x if c.shape(x) == tuple(shape) else c.let("reshape", x, list(shape))


def _length(c: Context, x: Tensor, p: float, axis: int | None, *, keepdim: bool = False) -> Call:
    """The norm of order p of differences."""
    over = {} if axis is None else {"axis": axis}
    kept = {"keepdim": True} if keepdim else {}
    if p == 0:
        return c.call("sum", c.let("cast", c.let("not_equal", x, 0.0), to=c.element(x)), **over, **kept)
    if p == inf:
        return c.call("amax", c.let("abs", x), **over, **kept)
    if p < 0:
        raise Refused(f"found a distance of order {p}, expected an order of at least 0")
    return c.call("vector_norm", x, **({} if p == 2 else {"order": p}), **over, **kept)


@operator("aten.cdist")
def cdist(c: Context, x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Call:
    rank = len(c.shape(x1))
    rows, columns = c.let("unsqueeze", x1, rank - 1), c.let("unsqueeze", x2, len(c.shape(x2)) - 2)
    return _length(c, c.let("sub", rows, columns), p, -1)


@operator("aten.dist")
def dist(c: Context, x: Tensor, other: Tensor, p: float = 2) -> Call:
    difference = c.let("sub", x, other)
    return _length(c, difference, p, None) if c.shape(difference) else c.call("abs", difference)


@operator("aten.pairwise_distance")
def pairwise_distance(
    c: Context, x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Call:
    difference = c.let("add", c.let("sub", x1, x2), eps)
    return _length(c, difference, p, -1, keepdim=keepdim)


@operator("aten.cosine_similarity")
def cosine_similarity(c: Context, x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Call:
    shape = list(_broadcast(c, x1, x2))
    if not shape:
        raise Refused("found scalars, expected vectors")
    axis = dim % len(shape) - len(shape)
    a, b = (one if list(c.shape(one)) == shape else c.let("expand", one, shape) for one in (x1, x2))
    units = [c.let("div", one, c.let("max", c.let("vector_norm", one, axis=axis, keepdim=True), eps)) for one in (a, b)]
    return c.call("sum", c.let("mul", *units), axis=axis)


def _broadcast(c: Context, x: Tensor, y: Tensor) -> tuple[int, ...]:
    rank = max(len(c.shape(x)), len(c.shape(y)))
    wide = [[1] * (rank - len(c.shape(one))) + list(c.shape(one)) for one in (x, y)]
    return tuple(max(a, b) for a, b in zip(*wide, strict=True))


@operator("aten.trapezoid", "aten.trapz")
def trapezoid(c: Context, y: Tensor, x: Tensor | None = None, dx: float = 1, dim: int = -1) -> Call:
    return c.call("sum", _areas(c, y, x, dx, dim), axis=c.axis(dim, y))


@operator("aten.cumulative_trapezoid")
def cumulative_trapezoid(c: Context, y: Tensor, x: Tensor | None = None, dx: float = 1, dim: int = -1) -> Call:
    return c.call("cumsum", _areas(c, y, x, dx, dim), c.axis(dim, y))


def _areas(c: Context, y: Tensor, x: Tensor | None, dx: float, dim: int) -> Tensor:
    """The areas between neighbours along an axis."""
    axis, size = c.axis(dim, y), c.shape(y)[c.axis(dim, y)]
    own = c.cast(y, c.result_element())
    both = c.let("add", c.let("slice", own, axis, 1, size), c.let("slice", own, axis, 0, size - 1))
    if x is None:
        return c.let("mul", both, dx / 2)
    places = c.cast(x, c.result_element())
    if len(c.shape(places)) == 1:
        places = c.let("reshape", places, [size, *[1] * (len(c.shape(y)) - axis - 1)])
        steps = c.let("sub", c.let("slice", places, 0, 1, size), c.let("slice", places, 0, 0, size - 1))
    else:
        along = axis - len(c.shape(y))
        steps = c.let("sub", c.let("slice", places, along, 1, size), c.let("slice", places, along, 0, size - 1))
    return c.let("mul", c.let("mul", both, steps), 0.5)


@operator("aten.diff")
def diff(
    c: Context,
    x: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor | Call:
    if n == 0:
        return x
    axis = c.axis(dim, x)
    parts = [one for one in (prepend, x, append) if one is not None and 0 not in c.shape(one)]
    whole: Tensor = parts[0] if len(parts) == 1 else c.let("concat", parts, axis)
    function = "logical_xor" if c.element(x) == "bool" else "sub"
    for number in range(n):
        size = c.shape(whole)[axis]
        step = c.call(function, c.let("slice", whole, axis, 1, size), c.let("slice", whole, axis, 0, size - 1))
        if number == n - 1:
            return step
        whole = c.script.assign(f"{c.layer}.{function}", step)
    return whole


@operator("aten._weight_norm", "aten._weight_norm_interface")
def weight_norm(c: Context, v: Tensor, g: Tensor, dim: int = 0) -> Call:
    axes = [axis for axis in range(len(c.shape(v))) if axis != c.axis(dim, v)]
    return c.call("mul", v, c.let("div", g, c.let("vector_norm", v, axis=axes, keepdim=True)))
