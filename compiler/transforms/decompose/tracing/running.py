"""Reductions of traced arrays, and running ones along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from npuc.compiler.transforms.decompose.tracing.array import Axes, Traced
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable, is_real, is_whole
from npuc.dialects.tensors import tensor_of
from npuc.dialects.train import extreme, reduction
from npuc.dialects.train.arithmetic import ReduceOp


def _axes(x: Traced, axis: Axes) -> tuple[int, ...]:
    """The axes of a reduction in ascending order; those of size 1 as well."""
    if axis is None:
        return tuple(range(x.ndim))
    listed: Any = [axis] if is_whole(axis) else axis
    return tuple(sorted(int(one) % x.ndim for one in listed))


def _shape(x: Traced, axes: Sequence[int], keepdims: bool) -> list[int]:
    if keepdims:
        return [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    return [size for axis, size in enumerate(x.shape) if axis not in axes]


def _typed(x: Traced, dtype: Any) -> Traced:
    """The elements in the type that sums and products have: that of integers is the widest, if no type is asked for."""
    if dtype is not None:
        return x.astype(dtype)
    return x if is_real(x.element) else x.astype(np.uint64 if x.unsigned else np.int64)


def total(x: Traced, axis: Axes = None, dtype: Any = None, keepdims: bool = False, **more: Any) -> Traced:
    """The sum over axes."""
    _refuse(more)
    x, axes = _typed(x, dtype), _axes(x, axis)

    def make(value: SSAValue, long: tuple[int, ...]) -> Operation:
        return ReduceOp(value, results=[tensor_of(x.element, _shape(x, long, True))])

    return _reduced(x, axes, make, keepdims)


def _reduced(x: Traced, axes: tuple[int, ...], make: Callable[..., Operation], keepdims: bool) -> Traced:
    """What `make` makes of a value and the axes that are longer than 1."""
    long = tuple(axis for axis in axes if x.shape[axis] > 1)
    found = x.like(x.recorder.one(make(x.value, long))) if long else x.copy()
    return found.reshape(_shape(x, axes, keepdims))


def product(x: Traced, axis: Axes = None, dtype: Any = None, keepdims: bool = False, **more: Any) -> Traced:
    """The product over axes."""
    _refuse(more)
    x, axes = _typed(x, dtype), _axes(x, axis)
    return _reduced(x, axes, _product_op, keepdims)


def _product_op(value: SSAValue, long: tuple[int, ...]) -> Operation:
    return reduction.ProdOp(value, axes=long)


def _extreme(kind: type[extreme.AmaxOp | extreme.AminOp]) -> Callable[..., Traced]:
    def reduced(x: Traced, axis: Axes = None, keepdims: bool = False, **more: Any) -> Traced:
        _refuse(more)
        numbers = x.astype(np.int32) if x.element == i1 else x

        def make(value: SSAValue, long: tuple[int, ...]) -> Operation:
            return kind(value, axes=long)

        found = _reduced(numbers, _axes(x, axis), make, keepdims)
        return found.astype(np.bool_) if x.element == i1 else found

    return reduced


largest, smallest = _extreme(extreme.AmaxOp), _extreme(extreme.AminOp)


def some(x: Traced, axis: Axes = None, keepdims: bool = False, **more: Any) -> Traced:
    """Whether any element along axes is not 0."""
    return largest(x.astype(np.bool_), axis, keepdims, **more)


def every(x: Traced, axis: Axes = None, keepdims: bool = False, **more: Any) -> Traced:
    """Whether all elements along axes are not 0."""
    return smallest(x.astype(np.bool_), axis, keepdims, **more)


def mean(x: Traced, axis: Axes = None, dtype: Any = None, keepdims: bool = False, **more: Any) -> Traced:
    """The mean over axes: numpy divides the sum by the count."""
    _refuse(more)
    count = prod(x.shape[one] for one in _axes(x, axis))
    return total(x if is_real(x.element) else x.astype(np.float64), axis, dtype, keepdims) / count


def variance(x: Traced, axis: Axes = None, ddof: float = 0, keepdims: bool = False, **more: Any) -> Traced:
    """The variance over axes, in two passes as numpy computes it."""
    _refuse(more)
    far = x - mean(x, axis, keepdims=True)
    count = prod(x.shape[one] for one in _axes(x, axis))
    return total(far * far, axis, None, keepdims) / max(count - ddof, 0)


def place_of(kind: type[extreme.ArgmaxOp | extreme.ArgminOp]) -> Callable[..., Traced]:
    """The function that finds the place of an extreme."""

    def found(x: Traced, axis: int | None = None, keepdims: bool = False, **more: Any) -> Traced:
        _refuse(more)
        if axis is None:
            x, axis = x.reshape(-1), 0
        axis %= x.ndim
        numbers = x.astype(np.int32) if x.element == i1 else x
        at = Traced(x.recorder, x.recorder.one(kind(numbers.value, axis=axis))).astype(np.int64)
        return at.reshape(_shape(x, [axis], keepdims))

    return found


def accumulated(
    recorder: Recorder, ufunc: np.ufunc, x: Traced, axis: int = 0, dtype: Any = None, **more: Any
) -> Traced:
    """
    The function of all elements up to each one along an axis, in log2(n) steps that each double the reach.

    Source: Hillis, Steele, "Data parallel algorithms", CACM 1986. Sums of floats are added in another order than one by
    one.
    """
    _refuse({name: value for name, value in more.items() if name != "out" or value is not None})
    axis %= x.ndim
    running = x if dtype is None else x.astype(dtype)
    size, reach = x.shape[axis], 1
    while reach < size:
        head = running[_along(x.ndim, axis, slice(0, reach))]
        late = running[_along(x.ndim, axis, slice(reach, size))]
        early = running[_along(x.ndim, axis, slice(0, size - reach))]
        both = ufunc(early, late)
        running = x.like(recorder.concat([recorder.cast(head.value, both.element), both.value], axis))
        reach *= 2
    return running


def _along(ndim: int, axis: int, entry: slice) -> tuple[slice, ...]:
    return tuple(entry if one == axis else slice(None) for one in range(ndim))


def _refuse(more: dict[str, Any]) -> None:
    wrong = sorted(name for name, value in more.items() if value is not None)
    if wrong:
        raise Untraceable(f"it reduces with {', '.join(wrong)}")


REDUCERS: dict[str, Callable[..., Traced]] = {
    "add": total,
    "multiply": product,
    "maximum": largest,
    "minimum": smallest,
    "logical_or": some,
    "logical_and": every,
}
