"""
Contractions of index-mapped arrays on numpy: what `npu.contract` and `npu.mac` compute.

An operand is gathered as a strided view of its padded array, one axis a dimension of the nest; the statement then is
one batched matrix product. Where several dimensions share an axis of the result (overlapping windows) all but the
longest are stepped through, one product each, so that each product updates distinct positions of the result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from npuc.compiler.interpreter.numbers import Sums
from npuc.compiler.layers.base import DataError
from npuc.dialects.npu.nest import Axis, Nest, Tensor, start_axes

Array: TypeAlias = npt.NDArray[Any]
Ranges: TypeAlias = Mapping[str, tuple[int, int]]
"""First index and one past the last of each dimension."""

GATHER_LIMIT = 1 << 24
"""Elements that a gathered operand may have before its windows are stepped through one by one instead."""
_EXACT = 1 << 53
"""Up to where float64 holds every integer."""
PAD_LIMIT = 1 << 40
"""The most elements of a tensor that are gathered, what lies outside of it included."""


@dataclass(frozen=True)
class View:
    """An array that an index map points into; position p of an axis is element p - origin of the array, if any."""

    axes: tuple[Axis, ...]
    array: Array
    origin: tuple[int, ...]

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of the map, in its order."""
        return _dims(self.axes)


@lru_cache(maxsize=4096)
def _dims(axes: tuple[Axis, ...]) -> tuple[str, ...]:
    """The dimensions of an index map, in its order."""
    return tuple(d for axis in axes for d in axis.dims)


def whole(tensor: Tensor, array: Array) -> View:
    """The view of a whole tensor."""
    return View(tensor.axes, array, (0,) * array.ndim)


def contract(
    nest: Nest,
    arrays: Mapping[str, Array],
    boxes: Sequence[Ranges] | None = None,
    sums: Sequence[Sums] | None = None,
) -> tuple[Array, ...]:
    """
    The outputs of a nest for arrays of its inputs and accumulator initialisers by name, box by box or all at once.

    `sums` give the accumulator type of each output; the default is the type of the arrays.
    """
    added = {} if sums is None else dict(zip((out.name for out in nest.outs), sums, strict=True))
    whole_nest = {dim: (0, size) for dim, size in nest.dims}
    outs: dict[str, Array] = {}
    for statement in nest.statements:
        out, lhs, rhs = (nest.tensors[name] for name in (statement.out, statement.lhs, statement.rhs))
        start = nest.start_of(out.name)
        operands = [arrays[lhs.name], arrays[rhs.name]]
        known = [*operands] if start is None else [*operands, arrays[start.name]]
        own = added.get(out.name, Sums(np.result_type(*known)))
        if start is None:
            result = np.zeros(out.shape, own.dtype)
        else:
            result = spread(out, start, arrays[start.name]).astype(own.dtype)
            result = result if own.rounded is None else own.rounded(result)
        views = whole(out, result), whole(lhs, operands[0]), whole(rhs, operands[1])
        for ranges in (whole_nest,) if boxes is None else boxes:
            accumulate(ranges, *views, own)
        outs[out.name] = result
    return tuple(outs[out.name] for out in nest.outs)


def spread(out: Tensor, start: Tensor, array: Array) -> Array:
    """An accumulator initialiser broadcast over the axes of its output that it lacks; a read-only view."""
    axes = start_axes(out, start)
    if axes is None:
        raise ValueError(f"{start} is no start of {out}")
    ordered = np.transpose(array, np.argsort(axes))
    shape = [out.shape[n] if n in axes else 1 for n in range(len(out.shape))]
    return np.broadcast_to(ordered.reshape(shape), out.shape)


def accumulate(ranges: Ranges, out: View, lhs: View, rhs: View, sums: Sums | None = None) -> None:
    """
    `out += lhs * rhs` over the box `ranges`, in place; operands are 0 outside their arrays, results there are dropped.

    Where `sums` says how sums are rounded, they are after each addition of a product, as in an array of such
    accumulators; products of dimensions that are summed come in the order of `ranges`, the last one fastest. Otherwise
    numpy adds in its own order.
    """
    if any(low >= high for low, high in ranges.values()):
        return
    stepped = _shared(out, ranges)
    rounded = None if sums is None else sums.rounded
    if rounded is not None:
        stepped |= ranges.keys() - set(out.dims)
    for operand in (lhs, rhs):
        if prod(ranges[d][1] - ranges[d][0] for d in operand.dims if d not in stepped) > GATHER_LIMIT:
            stepped |= _shared(operand, ranges)
    for fixed in _points([d for d in ranges if d in stepped], ranges):
        box = _clip({**ranges, **fixed}, out)
        if box is not None:
            target = _target(out, box)
            product = _product(box, [d for d in out.dims if d not in fixed], lhs, rhs, target.dtype)
            target += product.reshape(target.shape)
            if rounded is not None:
                target[...] = rounded(target)


def gather(view: View, ranges: Ranges) -> Array:
    """
    The elements of `view` over the box, one axis a dimension in the map's order; 0 outside the array.

    The result may share memory with the array and must not be written. Raises `DataError` for a box that reaches far
    more elements than memory holds.
    """
    array = view.array
    spans: list[tuple[int, int]] = []
    for axis, origin in zip(view.axes, view.origin, strict=True):
        low = axis.offset - origin + sum(c * ranges[d][0] for d, c in axis.terms)
        spans.append((low, low + sum(c * (ranges[d][1] - 1 - ranges[d][0]) for d, c in axis.terms) + 1))
    inside = tuple(slice(max(0, low), max(0, high)) for low, high in spans)
    pads = [
        (min(-min(0, low), high - low), high - low - min(-min(0, low), high - low) - part)
        for (low, high), part in zip(spans, array[inside].shape, strict=True)
    ]
    array = array[inside]
    if any(before or after for before, after in pads):
        if prod(high - low for low, high in spans) > PAD_LIMIT:
            raise DataError(f"ranges of dimensions reach {prod(high - low for low, high in spans):,} elements")
        array = np.pad(array, pads)
    shape: list[int] = []
    strides: list[int] = []
    for axis, stride in zip(view.axes, array.strides, strict=True):
        for d, c in axis.terms:
            shape.append(ranges[d][1] - ranges[d][0])
            strides.append(c * stride)
    return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False)


def scatter(view: View, ranges: Ranges, values: Array) -> None:
    """Add `values`, one axis a dimension in the map's order, where they belong: the inverse of `gather`."""
    stepped = _shared(view, ranges)
    for fixed in _points(sorted(stepped), ranges):
        box = _clip({**ranges, **fixed}, view)
        if box is not None:
            place = tuple(slice(box[d][0] - ranges[d][0], box[d][1] - ranges[d][0]) for d in view.dims)
            target = _target(view, box)
            target += values[place].reshape(target.shape)


def _shared(view: View, ranges: Ranges) -> set[str]:
    """The dimensions to step through so that each axis of `view` has one moving dimension: all but its longest."""
    stepped: set[str] = set()
    for axis in view.axes:
        moving = sorted(axis.dims, key=lambda d: ranges[d][1] - ranges[d][0])
        stepped.update(moving[:-1])
    return stepped


def _points(dims: Sequence[str], ranges: Ranges) -> Iterator[dict[str, tuple[int, int]]]:
    """The one-point ranges of all combinations of values of `dims`."""
    for point in product(*(range(*ranges[d]) for d in dims)):
        yield {d: (value, value + 1) for d, value in zip(dims, point, strict=True)}


def _clip(ranges: dict[str, tuple[int, int]], view: View) -> dict[str, tuple[int, int]] | None:
    """The part of a box that lies inside `view`, each axis of which has one moving dimension; None if nothing does."""
    for axis, origin, size in zip(view.axes, view.origin, view.array.shape, strict=True):
        base = axis.offset - origin
        moving: tuple[str, int] | None = None
        for d, c in axis.terms:
            low, high = ranges[d]
            if moving is None or high - low > 1:
                if moving is not None:
                    base += moving[1] * ranges[moving[0]][0]
                moving = (d, c)
            else:
                base += c * low
        if moving is None:
            if not 0 <= base < size:
                return None
            continue
        d, c = moving
        low, high = max(ranges[d][0], -(base // c)), min(ranges[d][1], (size - 1 - base) // c + 1)
        if low >= high:
            return None
        ranges[d] = (low, high)
    return ranges


def _target(view: View, box: Ranges) -> Array:
    """The elements of `view` that a clipped box reaches, to be written; an axis without dimensions keeps length 1."""
    place: list[slice] = []
    for axis, origin in zip(view.axes, view.origin, strict=True):
        low = axis.offset - origin + sum(c * box[d][0] for d, c in axis.terms)
        step = max((c for d, c in axis.terms if box[d][1] - box[d][0] > 1), default=1)
        place.append(slice(low, low + sum(c * (box[d][1] - 1 - box[d][0]) for d, c in axis.terms) + 1, step))
    return view.array[tuple(place)]


def _product(box: Ranges, out: Sequence[str], lhs: View, rhs: View, dtype: npt.DTypeLike) -> Array:
    """
    The sum of products over the box, with the axes `out`; every other dimension has one index or is summed.

    It is computed in a numpy type, or in that of the operands where that is wider.
    """
    left, right = (_widened(gather(operand, box), dtype) for operand in (lhs, rhs))
    left_dims, right_dims = list(lhs.dims), list(rhs.dims)
    for d in [d for d in left_dims if d not in out and d not in right_dims]:
        left, left_dims = left.sum(left_dims.index(d)), [e for e in left_dims if e != d]
    for d in [d for d in right_dims if d not in out and d not in left_dims]:
        right, right_dims = right.sum(right_dims.index(d)), [e for e in right_dims if e != d]
    batch = [d for d in out if d in left_dims and d in right_dims]
    rows = [d for d in out if d in left_dims and d not in right_dims]
    cols = [d for d in out if d in right_dims and d not in left_dims]
    inner = [d for d in left_dims if d in right_dims and d not in out]

    def size(dims: Sequence[str]) -> int:
        return prod(box[d][1] - box[d][0] for d in dims)

    def matrix(array: Array, dims: Sequence[str], order: Sequence[Sequence[str]]) -> Array:
        axes = [dims.index(d) for group in order for d in group]
        return array.transpose(axes).reshape([size(group) for group in order])

    result = _matmul(matrix(left, left_dims, (batch, rows, inner)), matrix(right, right_dims, (batch, inner, cols)))
    found = [*batch, *rows, *cols]
    result = result.reshape([box[d][1] - box[d][0] for d in found])
    result = result.transpose([found.index(d) for d in out if d in found])
    shape = [box[d][1] - box[d][0] for d in out]
    return np.broadcast_to(result.reshape([n if d in found else 1 for d, n in zip(out, shape, strict=True)]), shape)


def _matmul(left: Array, right: Array) -> Array:
    """
    A product of matrices. That of integers is computed in floats, for which there are fast routines, where these hold
    all sums exactly; one beyond the type wraps around as it would in numpy.
    """
    if left.dtype.kind != "i" or right.dtype.kind != "i":
        return np.matmul(left, right)
    largest = [int(max(abs(int(one.min(initial=0))), int(one.max(initial=0)))) for one in (left, right)]
    if largest[0] * largest[1] * left.shape[-1] > _EXACT:
        return np.matmul(left, right)
    dtype = np.result_type(left, right)
    return np.matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64).astype(dtype)


def _widened(array: Array, dtype: npt.DTypeLike) -> Array:
    """An array in a numpy type, where that is wider than its own."""
    return array.astype(np.result_type(array, dtype), copy=False)
