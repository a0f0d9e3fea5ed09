"""Constants, tensors that are known at compile time; they cost nothing."""

from collections.abc import Sequence
from math import ceil, prod

import numpy as np
from xdsl.dialects.builtin import AnyFloat, i1, i32
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Ints, OptInt, OptInts, check_value, element_type, short
from npuc.compiler.layers.base import Array, Kind, Layer
from npuc.dialects.tensors import MAX_ELEMENTS, shape_of, tensor_of
from npuc.dialects.train.base import decode, ints
from npuc.dialects.train.constant import ArangeOp, CausalMaskOp, IntegersOp, ListedNumbersOp

MOST_LISTED = 1 << 16
"""The most numbers that a program lists for a constant."""


class ArangeLayer(Layer[ArangeOp]):
    """start + i step."""

    op = ArangeOp
    kind = Kind.CONSTANT

    def evaluate(self, op: ArangeOp, *arrays: Array) -> tuple[Array, ...]:
        return (op.start.value.data + np.arange(shape_of(op.out)[0], dtype=np.float64) * op.step.value.data,)


class IntegersLayer(Layer[IntegersOp]):
    """The listed integers."""

    op = IntegersOp
    kind = Kind.CONSTANT

    def evaluate(self, op: IntegersOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.array(ints(op.values), dtype=np.int64).reshape(shape_of(op.out)),)


class ListedNumbersLayer(Layer[ListedNumbersOp]):
    """The listed numbers."""

    op = ListedNumbersOp
    kind = Kind.CONSTANT

    def evaluate(self, op: ListedNumbersOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.array(decode(op.values), dtype=np.float64).reshape(shape_of(op.out)),)


class CausalMaskLayer(Layer[CausalMaskOp]):
    """j <= i + offset."""

    op = CausalMaskOp
    kind = Kind.CONSTANT

    def evaluate(self, op: CausalMaskOp, *arrays: Array) -> tuple[Array, ...]:
        return (np.tri(*shape_of(op.out), k=int(op.offset.value.data), dtype=np.bool_),)


def integers(b: GraphBuilder, values: Ints) -> SSAValue:
    """A constant vector of i32."""
    return b.emit(IntegersOp(results=[tensor_of(i32, [len(values)])], values=tuple(values))).out


def arange(b: GraphBuilder, stop: float, start: float = 0, step: float = 1, dtype: str = "f32") -> SSAValue:
    """The vector of start, start + step, start + 2 step, … before stop; a constant."""
    element = element_type("dtype", dtype)
    if step == 0:
        raise ArgumentError("step", "found 0, expected a number other than 0")
    count = ceil((stop - start) / step)
    if count < 1 or count > MAX_ELEMENTS:
        many = "no element" if count < 1 else f"more than {MAX_ELEMENTS:,} elements"
        raise ArgumentError("stop", f"found {start:g} to before {stop:g} in steps of {step:g}, which has {many}")
    check_value("start", start, element)
    check_value("step", abs(step), element)
    check_value("stop", start + (count - 1) * step, element)
    return b.emit(ArangeOp(results=[tensor_of(element, [count])], start=float(start), step=float(step))).out


def tensor(
    b: GraphBuilder, values: Sequence[float] | Sequence[bool], shape: OptInts = None, dtype: str = "f32"
) -> SSAValue:
    """
    A constant of the listed numbers in row-major order: a vector, or of a `shape`.

    It holds at most 65,536 numbers; a larger one is a `frozen param`, whose values a run is given by its name.
    """
    element, listed = element_type("dtype", dtype), list(values)
    sizes = [len(listed)] if shape is None else [shape] if isinstance(shape, int) else list(shape)
    if not 1 <= len(listed) <= MOST_LISTED:
        hint = "a frozen param is given its values by its name in a run" if listed else None
        raise ArgumentError("values", f"found {len(listed)} numbers, expected 1 to {MOST_LISTED:,}", hint)
    if any(size < 1 for size in sizes) or prod(sizes) != len(listed):
        raise ArgumentError("shape", f"found {short(sizes)}, expected sizes for {len(listed)} numbers")
    for value in listed:
        check_value("values", value, element)
    results = [tensor_of(element, sizes)]
    if isinstance(element, AnyFloat):
        return b.emit(ListedNumbersOp(results=results, values=tuple(float(value) for value in listed))).out
    return b.emit(IntegersOp(results=results, values=tuple(int(value) for value in listed))).out


def full(b: GraphBuilder, shape: Ints, value: float, dtype: str = "f32") -> SSAValue:
    """A constant tensor with one value everywhere."""
    element = element_type("dtype", dtype)
    if any(size < 1 for size in shape) or prod(shape) > MAX_ELEMENTS:
        message = f"found {list(shape)}, expected sizes of at least 1 and at most {MAX_ELEMENTS:,} elements"
        raise ArgumentError("shape", message)
    check_value("value", value, element)
    return b.constant(tensor_of(element, shape), value)


def zeros(b: GraphBuilder, shape: Ints, dtype: str = "f32") -> SSAValue:
    """A constant tensor of zeros."""
    return full(b, shape, 0, dtype)


def ones(b: GraphBuilder, shape: Ints, dtype: str = "f32") -> SSAValue:
    """A constant tensor of ones."""
    return full(b, shape, 1, dtype)


def causal_mask(b: GraphBuilder, rows: int, columns: OptInt = None, offset: int = 0) -> SSAValue:
    """The constant boolean matrix that is true where column <= row + offset: where a query (row) may look."""
    for name, size in (("rows", rows), ("columns", columns)):
        if size is not None and size < 1:
            raise ArgumentError(name, f"found {size}, expected a size of at least 1")
    shape = [rows, rows if columns is None else columns]
    return b.emit(CausalMaskOp(results=[tensor_of(i1, shape)], offset=offset)).out


LAYERS = (ArangeLayer(), IntegersLayer(), ListedNumbersLayer(), CausalMaskLayer())
FUNCTIONS = (arange, tensor, full, zeros, ones, causal_mask)
