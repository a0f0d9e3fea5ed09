"""numpy's functions on traced arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f64, i1

from npuc.compiler.transforms.decompose.tracing import running
from npuc.compiler.transforms.decompose.tracing.array import Traced, lifted
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable, element_of, is_nominal, is_whole
from npuc.compiler.transforms.decompose.tracing.ufuncs import unified
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train.compare import WhereOp
from npuc.dialects.train.constant import ArangeOp
from npuc.dialects.train.extreme import ArgmaxOp, ArgminOp
from npuc.dialects.train.sort import ArgsortOp

Function = Callable[..., Any]


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    recorder = _recorder(condition, x, y)
    if x is None or y is None:
        raise Untraceable("it looks for the places where a condition holds, whose number depends on the data")
    if not isinstance(condition, Traced):
        condition = lifted(recorder, np.asarray(condition, np.bool_), i1)
    a, b = unified(recorder, (x, y))
    if a.element == f64 and not isinstance(x, Traced) and not isinstance(y, Traced):
        a, b = (one.like(recorder.cast(one.value, recorder.computed)) for one in (a, b))
    chosen = condition.astype(np.bool_)
    return a.like(recorder.one(WhereOp(chosen.value, a.value, b.value)))


def _recorder(*values: Any) -> Recorder:
    return next(one.recorder for one in values if isinstance(one, Traced))


def _clip(x: Any, low: Any = None, high: Any = None, out: Any = None, **more: Any) -> Any:
    low, high = more.get("min", low), more.get("max", high)
    found = x if low is None else np.maximum(x, low)
    found = found if high is None else np.minimum(found, high)
    return found if out is None else out.become(found.value)


def _concatenate(arrays: Sequence[Any], axis: int = 0, **_: Any) -> Traced:
    recorder = _recorder(*arrays)
    found = unified(recorder, [one for one in arrays if one.size])
    return found[0].like(recorder.concat([one.value for one in found], axis % found[0].ndim))


def _stack(arrays: Sequence[Any], axis: int = 0, **_: Any) -> Traced:
    return _concatenate([_expand_dims(one, axis) for one in arrays], axis)


def _expand_dims(x: Any, axis: int) -> Any:
    shape = list(x.shape)
    shape.insert(axis % (len(shape) + 1), 1)
    return x.reshape(shape)


def _split(x: Traced, places: Sequence[int], axis: int = 0) -> list[Traced]:
    axis %= x.ndim
    ends = [0, *(int(place) for place in places), x.shape[axis]]
    whole = [slice(None)] * x.ndim
    return [x[tuple([*whole[:axis], slice(low, high), *whole[axis + 1 :]])] for low, high in pairwise(ends)]


def _moveaxis(x: Traced, source: Any, target: Any) -> Traced:
    moved = [source] if isinstance(source, int) else list(source)
    placed = [target] if isinstance(target, int) else list(target)
    moved, placed = [one % x.ndim for one in moved], [one % x.ndim for one in placed]
    order = [axis for axis in range(x.ndim) if axis not in moved]
    for place, axis in sorted(zip(placed, moved, strict=True)):
        order.insert(place, axis)
    return x.transpose(order)


def _flip(x: Traced, axis: Any = None) -> Traced:
    axes = range(x.ndim) if axis is None else [axis] if is_whole(axis) else axis
    return x.like(x.recorder.flip(x.value, sorted(int(one) % x.ndim for one in axes)))


def _roll(x: Traced, shift: Any, axis: Any) -> Traced:
    pairs = [(shift, axis)] if isinstance(axis, int) else list(zip(shift, axis, strict=True))
    for by, along in pairs:
        size = x.shape[along]
        cut = -by % size
        if cut:
            first, second = _split(x, [cut], along)
            x = _concatenate([second, first], along)
    return x


def _pad(x: Traced, widths: Any, mode: str = "constant", constant_values: Any = 0) -> Traced:
    if mode != "constant":
        raise Untraceable(f"it pads by the mode {mode}")
    pairs = [(int(before), int(behind)) for before, behind in np.broadcast_to(np.asarray(widths), (x.ndim, 2))]
    starts = [before for before, _ in pairs]
    sizes = [before + size + behind for size, (before, behind) in zip(x.shape, pairs, strict=True)]
    if constant_values == 0:
        return x.like(x.recorder.pad(x.value, starts, sizes))
    whole = lifted(x.recorder, constant_values, x.element)
    whole.become(x.recorder.expand(whole.value, sizes))
    whole[tuple(slice(start, start + size) for start, size in zip(starts, x.shape, strict=True))] = x
    return whole


def _lower(x: Traced, k: int = 0) -> Any:
    return np.where(np.tri(*x.shape[-2:], k=k, dtype=np.bool_), x, 0)


def _upper(x: Traced, k: int = 0) -> Any:
    return np.where(np.tri(*x.shape[-2:], k=k - 1, dtype=np.bool_), 0, x)


def _filled(value: float | None) -> Function:
    """A function that makes an array of one value with the type of a traced one, or with a type that is given."""

    def like(x: Any, *given: Any, dtype: Any = None, shape: Any = None, **_: Any) -> Traced:
        fill = given[0] if value is None else value
        return _made(x, x.shape if shape is None else shape, fill, dtype)

    return like


def _shaped(value: float | None) -> Function:
    """The same for a shape that is given, where `like=` is the traced array."""

    def made(like: Traced, shape: Any, *given: Any, dtype: Any = None, **_: Any) -> Traced:
        fill = given[0] if value is None else value
        rest = given[1:] if value is None else given
        return _made(like, shape, fill, rest[0] if rest else dtype)

    return made


def _made(x: Traced, shape: Any, fill: Any, dtype: Any) -> Traced:
    sizes = (int(shape),) if is_whole(shape) else tuple(int(size) for size in shape)
    target = None if dtype is None else np.dtype(dtype)
    if target is None or (target.kind == "f" and x.dtype.kind == "f"):
        element = x.element
    else:
        element = x.recorder.computed if is_nominal(target) else element_of(target)
    found = lifted(x.recorder, fill, element)
    found.unsigned = x.unsigned if target is None else target.kind == "u"
    return found.become(x.recorder.expand(found.value, sizes))


def _argsort(x: Traced, axis: int = -1, kind: Any = None, **_: Any) -> Traced:
    if kind != "stable":
        raise Untraceable("it sorts without a rule for equal elements")
    return Traced(x.recorder, x.recorder.one(ArgsortOp(x.value, axis=axis % x.ndim))).astype(np.int64)


def _take(x: Any, indices: Any, axis: int | None = None, **_: Any) -> Any:
    if axis is None:
        return x.reshape(-1)[indices]
    index = np.asarray(indices) if isinstance(indices, range | list | tuple) else indices
    return x[(slice(None),) * (axis % x.ndim) + (index,)]


def _take_along_axis(x: Any, indices: Any, axis: int, **_: Any) -> Any:
    places: list[Any] = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    places[axis % len(places)] = indices
    return x[tuple(places)]


def _norm(x: Traced, *rest: Any, **more: Any) -> Traced:
    if rest or more:
        raise Untraceable("it computes another norm than the Euclidean one of all elements")
    return np.sqrt((x * x).sum())


def _running(name: str) -> Function:
    def found(x: Traced, axis: int | None = None, dtype: Any = None, **more: Any) -> Traced:
        if axis is None:
            x, axis = x.reshape(-1), 0
        return running.accumulated(x.recorder, getattr(np, name), x, axis, dtype, **more)

    return found


def _broadcast_to(x: Traced, shape: Iterable[int], **_: Any) -> Traced:
    return x.like(x.recorder.expand(x.value, tuple(int(size) for size in shape)))


def _asarray(like: Traced, x: Any, dtype: Any = None, **_: Any) -> Any:
    found = x if isinstance(x, Traced) else lifted(like.recorder, x, like.element)
    return found if dtype is None else found.astype(dtype)


FUNCTIONS: dict[Function, Function] = {
    np.where: _where,
    np.clip: _clip,
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.expand_dims: _expand_dims,
    np.split: _split,
    np.moveaxis: _moveaxis,
    np.swapaxes: Traced.swapaxes,
    np.transpose: Traced.transpose,
    np.reshape: Traced.reshape,
    np.flip: _flip,
    np.roll: _roll,
    np.pad: _pad,
    np.tril: _lower,
    np.triu: _upper,
    np.zeros_like: _filled(0),
    np.ones_like: _filled(1),
    np.empty_like: _filled(0),
    np.full_like: _filled(None),
    np.sum: running.total,
    np.prod: running.product,
    np.mean: running.mean,
    np.var: running.variance,
    np.max: running.largest,
    np.min: running.smallest,
    np.amax: running.largest,
    np.amin: running.smallest,
    np.any: running.some,
    np.all: running.every,
    np.argmax: running.place_of(ArgmaxOp),
    np.argmin: running.place_of(ArgminOp),
    np.argsort: _argsort,
    np.take: _take,
    np.take_along_axis: _take_along_axis,
    np.linalg.norm: _norm,
    np.cumsum: _running("add"),
    np.cumprod: _running("multiply"),
    np.broadcast_to: _broadcast_to,
    np.copy: Traced.copy,
}


def _arange(like: Traced, start: int, stop: int | None = None, **_: Any) -> Traced:
    first, behind = (0, start) if stop is None else (start, stop)
    made = ArangeOp(results=[tensor_of(like.element, (behind - first,))], start=float(first))
    return like.like(like.recorder.one(made))


LIKE: dict[Function, Function] = {
    np.arange: _arange,
    np.zeros: _shaped(0),
    np.ones: _shaped(1),
    np.empty: _shaped(0),
    np.full: _shaped(None),
    np.asarray: _asarray,
    np.array: _asarray,
}
"""Functions that make an array like a traced one, which comes first."""
