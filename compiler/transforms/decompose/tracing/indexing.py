"""Reading and writing traced arrays by indices, with numpy's rules for slices, integers and arrays of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import i1, i32

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.decompose.tracing.array import Traced, lifted
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable, is_whole
from npuc.dialects.tensors import tensor_of
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
        chosen: Any = np.where(cast(Any, key), lifted(recorder, new, x.element), cast(Any, x))
        x.become(chosen.value)
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
    done = recorder.put(whole, value, box.starts, box.steps)
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
    entries: list[Any] = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    given = sum(one is not None and one is not Ellipsis for one in entries)
    rest = [slice(None)] * (x.ndim - given)
    at = next((number for number, one in enumerate(entries) if one is Ellipsis), None)
    entries = [*entries, *rest] if at is None else [*entries[:at], *rest, *entries[at + 1 :]]
    has_arrays = any(isinstance(one, Traced | np.ndarray | list) for one in entries)
    sizes_left = iter(x.shape)
    axes = [_axis(one, 1 if one is None else next(sizes_left), has_arrays) for one in entries]
    return _Box(
        shape=tuple(axis.whole for axis in axes),
        starts=tuple(axis.start for axis in axes),
        sizes=tuple(axis.size for axis in axes),
        steps=tuple(axis.step for axis in axes),
        flipped=tuple(number for number, axis in enumerate(axes) if axis.flipped),
        kept=tuple(number for number, axis in enumerate(axes) if axis.kept),
        arrays=tuple((number, axis.array) for number, axis in enumerate(axes) if axis.array is not None),
    )


@frozen
class _Axis:
    """One axis of an index, of an array with `whole` positions there."""

    whole: int
    start: int
    size: int
    step: int = 1
    flipped: bool = False
    kept: bool = True
    array: Any = None


def _axis(entry: Any, size: int, has_arrays: bool) -> _Axis:
    """An entry of an index; beside arrays an integer is one, of rank 0."""
    if _is_slice(entry):
        start, count, step = _slice(entry, size)
        if step < 0:
            return _Axis(size, start + (count - 1) * step, count, -step, flipped=True)
        return _Axis(size, start, count, step)
    if is_whole(entry) and not has_arrays:
        return _Axis(size, int(entry) % size, 1, kept=False)
    return _Axis(size, 0, size, array=entry)


def _is_slice(entry: Any) -> bool:
    return isinstance(entry, slice)


def _slice(entry: Any, size: int) -> tuple[int, int, int]:
    start, stop, step = entry.indices(size)
    return start, len(range(start, stop, step)), step


def _simple(key: Any) -> object:
    """An index of slices and integers as something that compares equal."""
    entries: tuple[Any, ...] = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    return tuple(("slice", one.start, one.stop, one.step) if _is_slice(one) else one for one in entries)


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
