"""Matrix products and convolutions, and those that are their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from npuc.frontends.jax.context import HloContext, Meaning, registry
from npuc.frontends.jax.values import FlatOp, HloValue
from npuc.frontends.jax.views import TensorView, Value

if TYPE_CHECKING:
    from npuc.frontends.dsl.syntax import Name

MEANINGS: dict[str, Meaning] = {}
operator = registry(MEANINGS)


@operator("dot_general")
def dot_general(c: HloContext) -> Value:
    x, y = (c.views.squeezed(c, c.view(number)) for number in (0, 1))
    batches = c.ints.get("lhs_batching_dimensions", []), c.ints.get("rhs_batching_dimensions", [])
    inner = c.ints.get("lhs_contracting_dimensions", []), c.ints.get("rhs_contracting_dimensions", [])
    outer = _others(x, batches[0], inner[0]), _others(y, batches[1], inner[1])
    found = product(c, x, y, batches, inner, outer)
    return found if found is not None else _general(c, x, y, batches, inner, outer)


Axes = Sequence[int]
Pair = tuple[Axes, Axes]


def product(c: HloContext, x: TensorView, y: TensorView, batches: Pair, inner: Pair, outer: Pair) -> TensorView | None:
    """A product whose operands are read as they lie, transposed or not; None for another one."""
    if not (x.is_whole and y.is_whole) or any(len(outer[side]) < 1 for side in (0, 1)):
        return None
    a, b = (_lying(c, one) for one in (x, y))
    if a is None or b is None:
        return None
    if not batches[0] and len(inner[0]) == 1 and len(outer[1]) == 1 and len(outer[0]) >= 1 and len(b) == 2:
        # rows of any number of axes times a matrix
        if len(a) == 2 or a[-1] == inner[0][0]:
            if [axis for axis in a if axis in outer[0]] != list(outer[0]):
                return None
            return _matmul(c, x.name, y.name, a[-1] != inner[0][0], b[0] != inner[1][0])
    if not batches[0] and len(outer[0]) == len(outer[1]) == 1 and len(inner[0]) > 1 and c.is_step:
        # the gradient of a matrix: a sum over all rows
        same = [a.index(axis) for axis in inner[0]] == [b.index(axis) for axis in inner[1]]
        if same and a[-1] == outer[0][0] and b[-1] == outer[1][0]:
            return _summed(c, x.name, y.name)
    if batches[0] and len(inner[0]) == len(outer[0]) == len(outer[1]) == 1:
        count = len(batches[0])
        if list(a[:count]) == list(batches[0]) and list(b[:count]) == list(batches[1]):
            return _matmul(c, x.name, y.name, a[-1] != inner[0][0], b[-2] != inner[1][0])
    return None


def _lying(c: HloContext, x: TensorView) -> list[int] | None:
    """The axes in the order of the variable; None where it has others of size 1."""
    return x.order if len(c.shape(x.name)) == len(x.axes) else None


def _others(x: TensorView, *named: Axes) -> list[int]:
    taken = {axis for axes in named for axis in axes}
    return [axis for axis in range(len(x.shape)) if axis not in taken]


def _matmul(c: HloContext, x: Name, y: Name, transpose_a: bool, transpose_b: bool) -> TensorView:
    named = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    return c.result(c.call("matmul", x, y, **{name: True for name, value in named.items() if value}))


def _summed(c: HloContext, x: Name, y: Name) -> TensorView:
    """X^T Y, summed over the leading axes of both."""
    from npuc.dialects.train.matmul import MatmulOp

    (m, n), operands = c.type.shape, (c.tensor(x), c.tensor(y))
    type = c.result_type((m, n), x)
    return c.result(c.built(lambda b: b.emit(MatmulOp(*operands, results=[type], transpose_lhs=True)).out))


def turned_product(c: HloContext, x: TensorView, permutation: Axes) -> TensorView | None:
    """The transpose of a product of matrices as the product of their transposes; None for another operand."""
    made = c.flat.operands[0]
    if list(permutation) != [1, 0] or not isinstance(made, HloValue) or made.op is None:
        return None
    flat = made.op
    if flat.kind != "dot_general" or flat.op.ints.get("lhs_batching_dimensions") or x.axes != (0, 1):
        return None
    left, right = (c.views.of(c, operand) for operand in flat.operands)
    if not isinstance(left, TensorView) or not isinstance(right, TensorView):
        return None
    return _turned(c, flat, c.views.squeezed(c, left), c.views.squeezed(c, right))


def _turned(c: HloContext, flat: FlatOp, left: TensorView, right: TensorView) -> TensorView | None:
    ints = flat.op.ints
    inner = ints.get("rhs_contracting_dimensions", []), ints.get("lhs_contracting_dimensions", [])
    return product(c, right, left, ((), ()), inner, (_others(right, inner[0]), _others(left, inner[1])))


def _general(c: HloContext, x: TensorView, y: TensorView, batches: Pair, inner: Pair, outer: Pair) -> TensorView:
    """Any product: both operands moved to [batch, rows, inner] and [batch, inner, columns]."""
    shape = [x.shape[axis] for axis in batches[0]]
    if batches[0] and not _lies(c, x, batches[0], outer[0], inner[0]) and _lies(c, y, batches[1], outer[1], inner[1]):
        return _exchanged(c, x, y, batches, inner, outer)
    left = moved(c, x, (*batches[0], *outer[0], *inner[0]))
    right = moved(c, y, (*batches[1], *inner[1], *outer[1]))
    rows, columns = (prod(one.shape[axis] for axis in outer[side]) for side, one in ((0, x), (1, y)))
    depth = prod(x.shape[axis] for axis in inner[0])
    left = _reshaped(c, left, [*shape, rows, depth])
    right = _reshaped(c, right, [*shape, depth, columns])
    sizes = (*shape, rows, columns)
    if sizes == c.type.shape:
        return c.result(c.call("matmul", left, right))
    return c.result(c.call("reshape", c.let("matmul", left, right), list(c.type.shape)))


def _lies(c: HloContext, x: TensorView, *parts: Axes) -> bool:
    """Whether the axes of an operand lie in the order of some parts."""
    return x.is_whole and _lying(c, x) == [axis for part in parts for axis in part]


def _exchanged(c: HloContext, x: TensorView, y: TensorView, batches: Pair, inner: Pair, outer: Pair) -> TensorView:
    """A product with its operands exchanged, so that the second one need not be moved; rows and columns follow."""
    count, rows, columns = len(batches[0]), len(outer[0]), len(outer[1])
    left = _reshaped(c, y.name, [*_sizes(y, batches[1]), _size(y, outer[1]), _size(y, inner[1])])
    right = moved(c, x, (*batches[0], *inner[0], *outer[0]))
    right = _reshaped(c, right, [*_sizes(x, batches[0]), _size(x, inner[0]), _size(x, outer[0])])
    name = c.named(c.call("matmul", left, right))
    name = _reshaped(c, name, [*_sizes(x, batches[0]), *_sizes(y, outer[1]), *_sizes(x, outer[0])])
    axes = (*range(count), *range(count + columns, count + columns + rows), *range(count, count + columns))
    return TensorView(name, axes, c.type.shape, c.type.element)


def _sizes(x: TensorView, axes: Axes) -> list[int]:
    return [x.shape[axis] for axis in axes]


def _size(x: TensorView, axes: Axes) -> int:
    return prod(_sizes(x, axes))


def moved(c: HloContext, x: TensorView, axes: Axes) -> Name:
    turned = TensorView(x.name, tuple(x.axes[axis] for axis in axes), tuple(x.shape[axis] for axis in axes), x.element)
    return c.views.plain(c, turned)


def _reshaped(c: HloContext, x: Name, shape: list[int]) -> Name:
    return x if list(c.shape(x)) == shape else c.let("reshape", x, shape)
