"""Arrays that stand for values of a program: what numpy does to them is written down as primitives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from npuc.compiler.transforms.decompose.tracing.recorder import (
    Recorder,
    Untraceable,
    element_of,
    is_nominal,
    is_real,
    is_whole,
    numpy_type,
)
from npuc.dialects.tensors import shape_of, tensor_type

Axes = int | Sequence[int] | None


class Traced(NDArrayOperatorsMixin):
    """
    An array whose elements are not known: a value of the program, which in-place operations replace by another.

    Every float type of the program is float64 to numpy, so that no number is rounded before it is written; `element`
    is the type that the program has. Unsigned integers are held in signless ones of the same width.
    """

    __array_priority__ = 1000

    def __init__(self, recorder: Recorder, value: SSAValue, *, unsigned: bool = False):
        self.recorder = recorder
        self.value = value
        self.unsigned = unsigned
        self.read: tuple[SSAValue, object] | None = None
        """The value and the index that this array was read with, until something else is put in it."""
        self.added: Traced | None = None
        """What was added to it since it was read."""

    # what numpy asks

    @property
    def element(self) -> Attribute:
        """The element type in the program."""
        return tensor_type(self.value).element_type

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return shape_of(self.value)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type."""
        return numpy_type(self.element, unsigned=self.unsigned)

    @property
    def T(self) -> Traced:
        """The axes in reverse order."""
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Traced]:
        return (self[place] for place in range(len(self)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        return self.recorder.numpy.apply(self.recorder, ufunc, method, inputs, keywords)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        return self.recorder.numpy.call(self, function, arguments, keywords)

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise Untraceable("its elements become those of an array that is known")

    def _asked(self) -> Any:
        raise Untraceable("what it does depends on the values of its operands")

    __bool__ = __int__ = __float__ = __index__ = _asked

    # reading and writing

    def __getitem__(self, key: Any) -> Any:
        return self.recorder.numpy.picked(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.recorder.numpy.put(self, key, value)

    def become(self, value: SSAValue) -> Traced:
        """Stand for another value, as after an operation in place."""
        self.value, self.read, self.added = value, None, None
        return self

    def like(self, value: SSAValue) -> Traced:
        """An array for another value of the same recorder and signedness."""
        return Traced(self.recorder, value, unsigned=self.unsigned)

    def __iadd__(self, other: Any) -> Self:
        read, first = self.read, self.added is None
        if not is_traced(other):
            other = lifted(self.recorder, other, self.element)
        result = self + other
        if not isinstance(result, Traced) or result.shape != self.shape:
            raise Untraceable("it adds in place what has another shape")
        self.become(self.recorder.cast(result.value, self.element))
        if read is not None and first and isinstance(other, Traced):
            self.read, self.added = read, other
        return self

    # methods

    def astype(self, dtype: Any, **_: Any) -> Traced:
        """The elements in another type; a float stays in the float type that it has."""
        target = np.dtype(dtype)
        if target.kind == "f" and is_real(self.element):
            return self.like(self.value)
        if is_nominal(target):
            return self.like(self.recorder.cast(self.value, self.recorder.computed))
        if target.kind == "u" and self.dtype.kind in "iu" and target.itemsize == self.dtype.itemsize:
            return Traced(self.recorder, self.value, unsigned=True)
        element: Attribute = i64 if target.kind == "u" else element_of(target)
        return Traced(self.recorder, self.recorder.cast(self.value, element), unsigned=target.kind == "u")

    def as_float(self) -> Traced:
        """The elements in the float type of the operation."""
        return self.like(self.recorder.cast(self.value, self.recorder.computed))

    def as_element(self, value: Any) -> Any:
        """A number in the element type of this array."""
        return Traced(self.recorder, self.recorder.cast(value.value, self.element)) if is_traced(value) else value

    def copy(self, **_: Any) -> Traced:
        """An array of its own."""
        return self.like(self.value)

    def reshape(self, *shape: Any, **_: Any) -> Traced:
        """The same elements under another shape; -1 is what is left."""
        sizes = tuple(shape[0]) if len(shape) == 1 and not is_whole(shape[0]) else shape
        sizes = tuple(int(size) for size in sizes)
        if -1 in sizes:
            rest = -prod(sizes)
            sizes = tuple(self.size // rest if size == -1 else size for size in sizes)
        return self.like(self.recorder.reshape(self.value, sizes))

    def transpose(self, *axes: Any) -> Traced:
        """The axes in another order, by default reversed."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = [int(axis) % self.ndim for axis in order] if axes and order is not None else range(self.ndim)[::-1]
        return self.like(self.recorder.transpose(self.value, list(order)))

    def swapaxes(self, first: int, second: int) -> Traced:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        order[first], order[second] = order[second], order[first]
        return self.transpose(order)

    def _called(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        return getattr(np, name)(self, *arguments, **keywords)

    def sum(self, axis: Axes = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("sum", axis=axis, **keywords)

    def mean(self, axis: Axes = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("mean", axis=axis, **keywords)

    def var(self, axis: Axes = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("var", axis=axis, **keywords)

    def max(self, axis: Axes = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("max", axis=axis, **keywords)

    def min(self, axis: Axes = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("min", axis=axis, **keywords)

    def prod(self, axis: Axes = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("prod", axis=axis, **keywords)

    def any(self, axis: Axes = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("any", axis=axis, **keywords)

    def all(self, axis: Axes = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("all", axis=axis, **keywords)

    def argmax(self, axis: int | None = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("argmax", axis=axis, **keywords)

    def take(self, indices: Any, axis: int | None = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("take", indices, axis=axis, **keywords)

    def clip(self, min: Any = None, max: Any = None, **keywords: Any) -> Traced:
        """See numpy."""
        return self._called("clip", min, max, **keywords)


def is_traced(value: object) -> bool:
    """Whether a value is a traced array."""
    return isinstance(value, Traced)


def lifted(recorder: Recorder, value: Any, element: Attribute) -> Traced:
    """A traced array of a number or an array that is known, in an element type."""
    if isinstance(value, Traced):
        return Traced(recorder, recorder.cast(value.value, element), unsigned=value.unsigned)
    known = np.asarray(value)
    if known.dtype.kind == "u":
        known = known.astype(np.int64) if known.dtype.itemsize == 8 else known
    if not is_real(element) and known.dtype.kind == "f":
        known = np.trunc(known)
    held = recorder.scalar(known.item(), element) if known.ndim == 0 else recorder.table(known, element)
    return Traced(recorder, held)
