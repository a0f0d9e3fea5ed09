"""
Sorted elements along an axis and their places: comparisons of a merge sort, each row read once.

Equal elements keep their order, and NaN counts as the largest number, as in PyTorch's stable sort.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Value, normal_axis
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, PerElementLayer, derivative
from npuc.compiler.layers.cuts import same_axes
from npuc.dialects.tensors import shape_of
from npuc.dialects.train.index import GatherDxOp
from npuc.dialects.train.sort import ArgsortOp, SortOp, TopkOp


def _levels(count: int) -> int:
    """The comparisons an element that sort `count` elements: log2, rounded up."""
    return max(1, (count - 1).bit_length())


def _axis(op: SortOp | ArgsortOp | TopkOp) -> int:
    return int(op.axis.value.data) % len(shape_of(op.results[0]))


def _places(x: Array, axis: int, descending: bool) -> Array:
    """The places of the sorted elements; equal ones in the order of their places."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


class _SortedLayer(PerElementLayer[SortOp | TopkOp]):
    """Elements and their places, which dy goes back to."""

    def vjp(
        self, op: SortOp | TopkOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        g = grads[0]
        assert g is not None
        return [emit(derivative(GatherDxOp, op, g, op.places, results=[op.x.type])).dx]

    def cuts(self, op: SortOp | TopkOp) -> Sequence[Cut]:
        return same_axes(op, but=(_axis(op),))


class SortLayer(_SortedLayer):
    """All elements in order: log2 n comparisons for each of n elements."""

    op = SortOp

    def steps_of(self, op: SortOp | TopkOp) -> int:
        return _levels(shape_of(op.x)[_axis(op)])

    def evaluate(self, op: SortOp | TopkOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        assert isinstance(op, SortOp)
        places = _places(x, _axis(op), op.descending is not None)
        return np.take_along_axis(x, places, _axis(op)), places


class TopkLayer(_SortedLayer):
    """The k first elements in order: each element is compared with the last of them and log2 k others."""

    op = TopkOp

    def steps_of(self, op: SortOp | TopkOp) -> int:
        assert isinstance(op, TopkOp)
        k = int(op.k.value.data)
        return min(1 + (k - 1).bit_length(), _levels(shape_of(op.x)[_axis(op)]))

    def evaluate(self, op: SortOp | TopkOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        assert isinstance(op, TopkOp)
        places = _places(x, _axis(op), op.smallest is None).take(range(int(op.k.value.data)), _axis(op))
        return np.take_along_axis(x, places, _axis(op)), places


class ArgsortLayer(PerElementLayer[ArgsortOp]):
    """The places alone."""

    op = ArgsortOp

    def steps_of(self, op: ArgsortOp) -> int:
        return _levels(shape_of(op.x)[_axis(op)])

    def evaluate(self, op: ArgsortOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (_places(x, _axis(op), op.descending is not None),)

    def cuts(self, op: ArgsortOp) -> Sequence[Cut]:
        return same_axes(op, but=(_axis(op),))


def sort(b: GraphBuilder, x: Value, axis: int = -1, descending: bool = False) -> list[SSAValue]:
    """The elements in order along an axis, and their i32 places in x, as a list; equal ones keep their order."""
    return list(b.emit(SortOp(x, axis=normal_axis("axis", axis, len(shape_of(x))), descending=descending)).results)


def argsort(b: GraphBuilder, x: Value, axis: int = -1, descending: bool = False) -> SSAValue:
    """The i32 places of the elements in order along an axis; those of equal ones keep their order."""
    return b.emit(ArgsortOp(x, axis=normal_axis("axis", axis, len(shape_of(x))), descending=descending)).places


def topk(b: GraphBuilder, x: Value, k: int, axis: int = -1, largest: bool = True) -> list[SSAValue]:
    """The k largest (else smallest) elements along an axis in order, and their i32 places in x, as a list."""
    axis = normal_axis("axis", axis, len(shape_of(x)))
    size = shape_of(x)[axis]
    if not 1 <= k <= size:
        raise ArgumentError("k", f"found {k}, expected 1 to {size}, the size of axis {axis}")
    return list(b.emit(TopkOp(x, axis=axis, k=k, smallest=not largest)).results)


LAYERS = (SortLayer(), TopkLayer(), ArgsortLayer())
FUNCTIONS = (sort, argsort, topk)
