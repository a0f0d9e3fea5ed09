"""Reading and writing traced arrays by indices, with numpy's rules for slices, integers and arrays of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1, i32

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.decompose.tracing.array import Traced, lifted
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.box import SlicePutOp
from npuc.dialects.train.indexing import IndexOp
from npuc.dialects.train.scatter import IndexPutOp, IndexReduceOp

_COMBINED = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


@frozen
class _Box:
    """
    The slices of an index, on an array with an axis of size 1 for each `None`: `shape` is that array's.

    `starts`, `sizes` and `steps` are a box of it, `flipped` the axes that are read backwards, `kept` the axes that the
    result has (an integer takes its axis away). `arrays` are the axes that arrays of indices read, by number.
    """

    shape: tuple[int, ...]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    flipped: tuple[int, ...]
    kept: tuple[int, ...]
    arrays: tuple[tuple[int, Any], ...]


def picked(x: Traced, key: Any) -> Any:
    """`x[key]`; what has no elements is known."""
    box = _box(x, key)
    recorder = x.recorder
    if 0 in box.sizes:
        return np.zeros([box.sizes[axis] for axis in box.kept], x.dtype)
    value = recorder.reshape(x.value, box.shape)
    value = recorder.slice(value, box.starts, box.sizes, box.steps)
    found = x.like(recorder.flip(value, box.flipped))
    if box.arrays:
        return _gathered(found, box.arrays)
    result = found.reshape([box.sizes[axis] for axis in box.kept])
    result.read = (x.value, _simple(key))
    return result


def put(x: Traced, key: Any, new: Any) -> None:
    """`x[key] = new`, which makes `x` stand for another value."""
    recorder = x.recorder
    if isinstance(key, Traced) and key.element == i1:
        if key.shape != x.shape:
            raise Untraceable("it puts elements where a mask of another shape holds")
        x.become(np.where(key, lifted(recorder, new, x.element), x).value)
        return
    box = _box(x, key)
    if box.arrays:
        _scattered(x, box, new)
        return
    sizes = [box.sizes[axis] for axis in box.kept]
    if isinstance(new, Traced) and new.added is not None and new.read == (x.value, _simple(key)) and not box.flipped:
        # x[key] += …: what is added, placed in zeros
        added = recorder.expand(recorder.cast(new.added.value, x.element), sizes)
        padded = recorder.pad(recorder.reshape(added, box.sizes), box.starts, box.shape, box.steps)
        x.become((x + x.like(recorder.reshape(padded, x.shape))).value)
        return
    value = recorder.expand(lifted(recorder, new, x.element).value, sizes)
    value = recorder.flip(recorder.reshape(value, box.sizes), box.flipped)
    if box.sizes == box.shape:
        x.become(recorder.reshape(value, x.shape))
        return
    whole = recorder.reshape(x.value, box.shape)
    apart = tuple(step if size > 1 else 1 for step, size in zip(box.steps, box.sizes, strict=True))
    steps = {"steps": apart} if any(step != 1 for step in apart) else {}
    done = recorder.one(SlicePutOp(whole, value, starts=box.starts, **steps))
    x.become(recorder.reshape(done, x.shape))


def combine_at(recorder: Recorder, name: str, x: Any, key: Any, new: Any) -> None:
    """`ufunc.at(x, key, new)`: combine elements in place, those of equal indices one after the other."""
    if not isinstance(x, Traced) or name not in _COMBINED:
        raise Untraceable(f"it calls numpy's {name}.at on an array that is known")
    box = _box(x, key)
    if not box.arrays or any(size != whole for size, whole in zip(box.sizes, box.shape, strict=True)):
        raise Untraceable(f"it calls numpy's {name}.at with slices")
    _scattered(x, box, new, _COMBINED[name])


def _box(x: Traced, key: Any) -> _Box:
    """An index, taken apart."""
    entries = list(key) if isinstance(key, tuple) else [key]
    given = sum(one is not None and one is not Ellipsis for one in entries)
    rest = [slice(None)] * (x.ndim - given)
    at = next((number for number, one in enumerate(entries) if one is Ellipsis), None)
    entries = [*entries, *rest] if at is None else [*entries[:at], *rest, *entries[at + 1 :]]
    has_arrays = any(isinstance(one, Traced | np.ndarray | list) for one in entries)
    shape, starts, sizes, steps = list[int](), list[int](), list[int](), list[int]()
    flipped, kept, arrays = list[int](), list[int](), list[tuple[int, Any]]()
    sizes_left = iter(x.shape)
    for axis, entry in enumerate(entries):
        size = 1 if entry is None else next(sizes_left)
        shape.append(size)
        start, count, step = 0, size, 1
        if isinstance(entry, slice):
            start, count, step = _slice(entry, size)
            if step < 0:
                start, step = start + (count - 1) * step, -step
                flipped.append(axis)
        elif isinstance(entry, int | np.integer) and not has_arrays:
            start, count = int(entry) % size, 1
        elif entry is not None:
            arrays.append((axis, entry))
        if not (isinstance(entry, int | np.integer) and not has_arrays):
            kept.append(axis)
        starts.append(start)
        sizes.append(count)
        steps.append(step)
    return _Box(*map(tuple, (shape, starts, sizes, steps, flipped, kept, arrays)))


def _slice(entry: slice, size: int) -> tuple[int, int, int]:
    start, stop, step = entry.indices(size)
    return start, len(range(start, stop, step)), step


def _simple(key: Any) -> object:
    """An index of slices and integers as something that compares equal."""
    entries = key if isinstance(key, tuple) else (key,)
    return tuple((one.start, one.stop, one.step) if isinstance(one, slice) else one for one in entries)


@frozen
class _Indexed:
    """
    Arrays of indices as operands of the indexing operations: `axes` says for each axis which one of the result it is,
    or -1 where an operand of `index` says the places; `shape` is that of the elements.
    """

    index: tuple[Traced, ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]


def _indexed(x: Traced, arrays: Sequence[tuple[int, Any]]) -> _Indexed:
    """Arrays of indices along some axes of `x`, with their axes where numpy puts them."""
    recorder, places = x.recorder, [axis for axis, _ in arrays]
    found = [_indices(recorder, one, x.shape[axis]) for axis, one in arrays]
    common = np.broadcast_shapes(*(one.shape for one in found))
    together = places == list(range(places[0], places[-1] + 1))
    others = [axis for axis in range(x.ndim) if axis not in places]
    before = [axis for axis in others if axis < places[0]] if together else []
    behind = [axis for axis in others if axis not in before]
    axes = [-1] * x.ndim
    for number, axis in enumerate(before):
        axes[axis] = number
    for number, axis in enumerate(behind):
        axes[axis] = len(before) + len(common) + number
    shape = (*(x.shape[axis] for axis in before), *common, *(x.shape[axis] for axis in behind))
    index = tuple(
        one.reshape([1] * (len(before) + len(common) - one.ndim) + list(one.shape) + [1] * len(behind)) for one in found
    )
    return _Indexed(index, tuple(axes), shape)


def _indices(recorder: Recorder, one: Any, size: int) -> Traced:
    if isinstance(one, Traced):
        if one.element == i1:
            raise Untraceable("it picks the elements where a mask holds, whose number depends on the data")
        return one
    known = np.asarray(one)
    if known.dtype.kind == "b":
        raise Untraceable("it picks elements by a mask that is known")
    return lifted(recorder, np.where(known < 0, known + size, known), i32)


def _gathered(x: Traced, arrays: Sequence[tuple[int, Any]]) -> Traced:
    own = _indexed(x, arrays)
    result = tensor_of(x.element, own.shape)
    op = IndexOp(x.value, *(one.value for one in own.index), results=[result], axes=own.axes)
    return x.like(x.recorder.one(op))


def _scattered(x: Traced, box: _Box, new: Any, combined: str | None = None) -> None:
    """Put elements at indices, or combine them with what is there."""
    recorder = x.recorder
    whole = x.like(recorder.reshape(x.value, box.shape))
    part = whole.like(recorder.flip(recorder.slice(whole.value, box.starts, box.sizes, box.steps), box.flipped))
    own = _indexed(part, box.arrays)
    values = recorder.expand(lifted(recorder, new, x.element).value, own.shape)
    operands = (part.value, values, *(one.value for one in own.index))
    if combined is None:
        done: Any = part.like(recorder.one(IndexPutOp(*operands, axes=own.axes)))
    else:
        done = part.like(recorder.one(IndexReduceOp(*operands, axes=own.axes, reduce=combined)))
    if box.sizes == box.shape:
        x.become(recorder.reshape(recorder.flip(done.value, box.flipped), x.shape))
        return
    raise Untraceable("it puts elements at indices in a part of an array")
