"""What moves the elements of constants: reshape, transpose, slice, gather, concat, split, expand, tile."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from npuc.dialects.tensors import MAX_ELEMENTS
from npuc.frontends.onnx.container.element_types import INT64, Array
from npuc.frontends.onnx.fold.rules import Folded, RuleBook
from npuc.frontends.onnx.values import Constant, integers

BOOK = RuleBook()


def reshaped(folded: Folded, shape: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
    """A shape with -1 for what is left and, without `allowzero`, 0 for the size at the same place."""
    sizes = list(wanted)
    if not folded.call.int("allowzero"):
        if any(size == 0 and axis >= len(shape) for axis, size in enumerate(sizes)):
            raise folded.call.error(f"shape {sizes} has a 0 beyond the axes of {list(shape)}")
        sizes = [shape[axis] if size == 0 else size for axis, size in enumerate(sizes)]
    count, known = prod(shape), prod(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and known and count % known == 0:
        sizes[sizes.index(-1)] = count // known
    if any(size < 0 for size in sizes) or prod(sizes) != count:
        raise folded.call.error(f"{list(shape)} cannot be reshaped to {list(wanted)}")
    return tuple(sizes)


def _viewed(folded: Folded, array: Array, shape: Sequence[int]) -> Sequence[Constant]:
    if not array.flags.c_contiguous and any(array.strides):
        folded.limits.claim(array.shape)  # numpy may have to copy
    return [Constant(array.reshape(shape), folded.type)]


@BOOK.rule("Reshape")
def _reshape(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    return _viewed(folded, array, reshaped(folded, array.shape, folded.sizes(1)))


@BOOK.rule("Flatten")
def _flatten(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    axis = folded.call.int("axis", 1)
    if not -array.ndim <= axis <= array.ndim:
        raise folded.call.error(f"axis {axis} is outside of a tensor of rank {array.ndim}")
    at = axis if axis >= 0 else axis + array.ndim
    return _viewed(folded, array, (prod(array.shape[:at]), prod(array.shape[at:])))


@BOOK.rule("Unsqueeze")
def _unsqueeze(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    wanted = folded.call.ints_at(1) or ()
    folded.check_rank(array.ndim + len(wanted))
    axes = folded.axes(array.ndim + len(wanted), 1) or ()
    return [Constant(np.expand_dims(array, axes), folded.type)]


@BOOK.rule("Squeeze")
def _squeeze(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    axes = folded.axes(array.ndim, 1)
    if axes is None:
        axes = tuple(axis for axis, size in enumerate(array.shape) if size == 1)
    if any(array.shape[axis] != 1 for axis in axes):
        raise folded.call.error(f"axes {list(axes)} of {list(array.shape)} are not all of size 1")
    return [Constant(np.squeeze(array, axes), folded.type)]


@BOOK.rule("Transpose")
def _transpose(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    order = folded.call.ints("perm") or tuple(reversed(range(array.ndim)))
    if sorted(order) != list(range(array.ndim)):
        raise folded.call.error(f"perm {list(order)} is no order of {array.ndim} axes")
    return [Constant(array.transpose(order), folded.type)]


@BOOK.rule("Slice")
def _slice(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    starts, ends = folded.call.ints_at(1) or (), folded.call.ints_at(2) or ()
    axes = folded.axes(array.ndim, 3)
    axes = tuple(range(len(starts))) if axes is None else axes
    steps = folded.call.ints_at(4) or (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or len(axes) > array.ndim or 0 in steps:
        raise folded.call.error("starts, ends, axes and steps do not fit together")
    index = [slice(None)] * array.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        index[axis] = range_of(array.shape[axis], start, end, step)
    return [Constant(array[tuple(index)], folded.type)]


def range_of(size: int, start: int, end: int, step: int) -> slice[int, int | None, int]:
    """Elements of an axis; bounds may lie beyond both ends, also far beyond."""
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, last = (min(max(i + size if i < 0 else i, low), high) for i in (start, end))
    return slice(first, None if last < 0 else last, step)


@BOOK.rule("Gather")
def _gather(folded: Folded) -> Sequence[Constant]:
    array, index = folded.array(0), folded.array(1)
    axis = folded.axis(array.ndim)
    folded.limits.claim((*array.shape[:axis], *index.shape, *array.shape[axis + 1 :]))
    return [Constant(np.take(array, _checked(folded, index, array.shape[axis]), axis), folded.type)]


@BOOK.rule("GatherElements")
def _gather_elements(folded: Folded) -> Sequence[Constant]:
    array, index = folded.array(0), folded.array(1)
    axis = folded.axis(array.ndim)
    sizes = list(zip(index.shape, array.shape, strict=False))
    if array.ndim != index.ndim or any(i > a for n, (i, a) in enumerate(sizes) if n != axis):
        raise folded.call.error(f"indices {list(index.shape)} do not fit {list(array.shape)}")
    folded.limits.claim(index.shape)
    inside = tuple(slice(None) if n == axis else slice(i) for n, (i, _) in enumerate(sizes))
    return [Constant(np.take_along_axis(array[inside], _checked(folded, index, array.shape[axis]), axis), folded.type)]


def _checked(folded: Folded, index: Array, size: int) -> Array:
    """Indices counted from 0. Raises `SourceError` for one that is outside."""
    if index.dtype.kind not in "iu" or np.any(index < -size) or np.any(index >= size):
        raise folded.call.error(f"an index is outside of an axis of size {size}")
    return np.where(index < 0, index + size, index)


@BOOK.rule("Concat")
def _concat(folded: Folded) -> Sequence[Constant]:
    arrays = folded.arrays
    if not arrays or len({a.ndim for a in arrays}) > 1 or len({a.dtype for a in arrays}) > 1:
        raise folded.call.error("inputs are not of one rank and type")
    axis = folded.axis(arrays[0].ndim)
    if len({a.shape[:axis] + a.shape[axis + 1 :] for a in arrays}) > 1:
        raise folded.call.error(f"shapes {[list(a.shape) for a in arrays]} differ outside of axis {axis}")
    folded.limits.claim((sum(prod(a.shape) for a in arrays),))
    return [Constant(np.concatenate(arrays, axis), folded.type)]


@BOOK.rule("Split")
def _split(folded: Folded) -> Sequence[Constant]:
    array = folded.array(0)
    axis = folded.axis(array.ndim)
    sizes = split_sizes(folded, array.shape[axis], len(folded.call.outputs))
    bounds = np.cumsum(sizes)[:-1]
    return [Constant(part, folded.type) for part in np.split(array, bounds, axis)]


def split_sizes(folded: Folded, size: int, outputs: int) -> tuple[int, ...]:
    """The sizes of the parts of an axis: as given, or equal but for a smaller last one."""
    sizes = folded.call.ints_at(1)
    if sizes is None:
        parts = folded.call.int("num_outputs", outputs)
        if not 1 <= parts <= max(size, 1):
            raise folded.call.error(f"an axis of size {size} cannot have {parts} parts")
        each = -(-size // parts)
        sizes = (*([each] * (parts - 1)), size - each * (parts - 1))
    if any(part < 0 for part in sizes) or sum(sizes) != size:
        raise folded.call.error(f"parts {list(sizes)} do not make an axis of size {size}")
    return sizes


@BOOK.rule("Expand")
def _expand(folded: Folded) -> Sequence[Constant]:
    array, wanted = folded.array(0), folded.sizes(1)
    if any(size < 0 for size in wanted) or prod(wanted) > MAX_ELEMENTS:
        raise folded.call.error(f"found the shape {list(wanted)}, expected sizes from 0 and at most 2^44 elements")
    try:
        shape = np.broadcast_shapes(array.shape, wanted)
    except ValueError:
        raise folded.call.error(f"{list(array.shape)} does not expand to {list(wanted)}") from None
    return [Constant(np.broadcast_to(array, shape), folded.type)]


@BOOK.rule("Tile")
def _tile(folded: Folded) -> Sequence[Constant]:
    array, repeats = folded.array(0), folded.call.ints_at(1) or ()
    if len(repeats) != array.ndim or any(r < 0 for r in repeats):
        raise folded.call.error(f"repeats {list(repeats)} do not fit {list(array.shape)}")
    folded.limits.claim([size * r for size, r in zip(array.shape, repeats, strict=True)])
    return [Constant(np.tile(array, repeats), folded.type)]


@BOOK.rule("NonZero")
def _nonzero(folded: Folded) -> Sequence[Constant]:
    array = np.atleast_1d(folded.array(0))
    folded.limits.claim((array.ndim, int(np.count_nonzero(array))))
    return [Constant(np.stack(np.nonzero(array)).astype(np.int64), INT64)]


def shape_of(folded: Folded) -> Constant:
    """The shape of the first input, which may be no constant, or the part of it that is asked for."""
    shape = folded.call.tensor(0).shape
    start, end = folded.call.int("start"), folded.call.int("end", len(shape))
    return integers(shape[range_of(len(shape), start, end, 1)])
