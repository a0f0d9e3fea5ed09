"""
The values that nodes pass on: constants, which are known while a file is read, values of the program, and sequences.

Where ONNX leaves an input out, the value is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np

from npuc.frontends.onnx.container.element_types import BOOL, INT64, Array, ElementType, type_of
from npuc.frontends.onnx.container.tensors import OnnxTensor


class Dynamic(Protocol):
    """A value that the program computes: the shape and the element type of it are known, its elements are not."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        ...

    @property
    def type(self) -> ElementType:
        """The type of its elements."""
        ...


@runtime_checkable
class Stored(Dynamic, Protocol):
    """A parameter, whose elements are in the file: where an operator needs them while it is read, it is a constant."""

    def as_constant(self) -> Constant:
        """Its elements."""
        ...


class Constant:
    """
    A value that is known while a file is read: elements at hand, or in the file until somebody asks for them.

    `name` is that of the initial value or of the output that it has in the file, for messages and parameters.
    Elements are held as `element_types` says; an axis along which all are equal may have the stride 0.
    """

    __slots__ = ("_array", "_tensor", "name", "shape", "type")

    def __init__(self, array: Array | OnnxTensor, type: ElementType | None = None, name: str = ""):
        self.name = name
        self._tensor = array if isinstance(array, OnnxTensor) else None
        self._array = None if isinstance(array, OnnxTensor) else array
        self.shape: tuple[int, ...] = array.shape
        self.type = array.type if isinstance(array, OnnxTensor) else type or type_of(array)

    @property
    def array(self) -> Array:
        """Its elements. Raises `SourceError` where the file has not the content that it says."""
        if self._array is None:
            assert self._tensor is not None
            self._array = self._tensor.numpy()
        return self._array

    @property
    def tensor(self) -> OnnxTensor | None:
        """The tensor of the file that it is, None for one that was computed."""
        return self._tensor

    @property
    def is_uniform(self) -> bool:
        """Whether its elements are one, repeated without memory."""
        strides_ = zip(self.shape, self.array.strides, strict=True)
        return all(size == 1 or stride == 0 for size, stride in strides_)


@dataclass(frozen=True)
class ValueSequence:
    """A sequence of values, whose length is known while a file is read."""

    items: tuple[OnnxValue, ...]


OnnxValue: TypeAlias = Constant | Dynamic | ValueSequence | None


def integers(values: Sequence[int]) -> Constant:
    """A constant vector of i64."""
    return Constant(np.array(values, np.int64), INT64)


def scalar(value: int) -> Constant:
    """A constant i64 of rank 0."""
    return Constant(np.array(value, np.int64), INT64)


def truth(value: bool) -> Constant:
    """A constant bool of rank 0."""
    return Constant(np.array(value), BOOL)
