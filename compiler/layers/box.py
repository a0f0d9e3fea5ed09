"""
Boxes of tensors: slice and pad, each the derivative of the other, for which only the box is moved; and a tensor with
another box, which is moved whole.
"""

import builtins
from collections.abc import Sequence
from math import prod
from typing import Any, Literal

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Ints, OptInt, Value, check_value, normal_axis, short
from npuc.compiler.layers.base import (
    Array,
    Cut,
    Emit,
    Gradients,
    Joined,
    Kind,
    Layer,
    PerElementLayer,
    Pieces,
    Work,
    derivative,
    elements,
    result_elements,
)
from npuc.compiler.layers.cuts import same_axes
from npuc.compiler.layers.shape import shaped, view
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.arithmetic import constant
from npuc.dialects.train.base import ints
from npuc.dialects.train.box import BORDER_MODES, BorderPadDxOp, BorderPadOp, PadOp, SliceOp, SlicePutOp


def _box(op: SliceOp | PadOp | SlicePutOp, shape: Sequence[int]) -> tuple[builtins.slice, ...]:
    """The places of a part of the given shape."""
    starts, steps = ints(op.starts), None if op.steps is None else ints(op.steps)
    return tuple(
        builtins.slice(start, start + (size - 1) * step + 1, step)
        for start, size, step in zip(starts, shape, steps or (1,) * len(starts), strict=True)
    )


class SliceLayer(Layer[SliceOp]):
    """A box of a tensor; only the box is read."""

    op = SliceOp
    kind = Kind.DATA

    def evaluate(self, op: SliceOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (x[_box(op, shape_of(op.out))].copy(),)

    def vjp(self, op: SliceOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(PadOp, op, g, results=[op.x.type])).out]

    def work(self, op: SliceOp) -> Work:
        return Work(reads=(result_elements(op),))

    def shown(self, op: SliceOp) -> Joined | Pieces | None:
        """A slice along one axis aliases the middle one of three pieces."""
        whole, box, starts = shape_of(op.x), shape_of(op.out), ints(op.starts)
        axes = [axis for axis, (size, part) in enumerate(zip(whole, box, strict=True)) if size != part]
        if op.steps is not None or len(axes) > 1:
            return None
        if not axes:
            return Joined()
        (axis,) = axes
        line = prod(whole) // whole[axis]
        sizes = [starts[axis], box[axis], whole[axis] - starts[axis] - box[axis]]
        return Pieces(tuple(size * line for size in sizes if size), (1 if sizes[0] else 0,))

    def cuts(self, op: SliceOp) -> Sequence[Cut]:
        return same_axes(op)


class PadLayer(Layer[PadOp]):
    """A tensor placed in copies of one value."""

    op = PadOp
    kind = Kind.DATA

    def shown(self, op: PadOp) -> Joined | Pieces | None:
        return Joined()

    def evaluate(self, op: PadOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        out = np.full(shape_of(op.out), op.value.value.data, dtype=x.dtype, like=x)
        out[_box(op, x.shape)] = x
        return (out,)

    def vjp(self, op: PadOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(SliceOp, op, g, results=[op.x.type])).out]

    def cuts(self, op: PadOp) -> Sequence[Cut]:
        return same_axes(op)


class SlicePutLayer(Layer[SlicePutOp]):
    """A tensor with another box; what it replaces is not read."""

    op = SlicePutOp
    kind = Kind.DATA

    def evaluate(self, op: SlicePutOp, *arrays: Array) -> tuple[Array, ...]:
        x, src = arrays
        out = x.copy()
        out[_box(op, src.shape)] = src
        return (out,)

    def vjp(
        self, op: SlicePutOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        dx = dsrc = None
        if needs[0]:
            dx = emit(derivative(SlicePutOp, op, g, emit(constant(tensor_type(op.src), 0.0)).out)).out
        if needs[1]:
            dsrc = emit(derivative(SliceOp, op, g, results=[op.src.type])).out
        return [dx, dsrc]

    def work(self, op: SlicePutOp) -> Work:
        put = elements(op.src)
        return Work(reads=(result_elements(op) - put, put))

    def cuts(self, op: SlicePutOp) -> Sequence[Cut]:
        return same_axes(op)


_NUMPY_MODES: dict[str, Literal["reflect", "edge", "wrap"]] = {
    "reflect": "reflect",
    "replicate": "edge",
    "circular": "wrap",
}


def _sources(op: BorderPadOp | BorderPadDxOp, inner: Sequence[int], outer: Sequence[int]) -> list[Array]:
    """For each axis of the padded tensor, the position in the inner one that each position copies."""
    mode = _NUMPY_MODES[op.mode.data]
    return [
        np.pad(np.arange(size), (start, whole - size - start), mode)
        for size, start, whole in zip(inner, ints(op.starts), outer, strict=True)
    ]


class BorderPadLayer(Layer[BorderPadOp]):
    """A tensor continued beyond its borders, by reflection, replication or repetition."""

    op = BorderPadOp
    kind = Kind.DATA

    def evaluate(self, op: BorderPadOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (x[np.ix_(*_sources(op, x.shape, shape_of(op.out)))],)

    def vjp(
        self, op: BorderPadOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(derivative(BorderPadDxOp, op, g, results=[op.x.type])).dx]

    def cuts(self, op: BorderPadOp) -> Sequence[Cut]:
        return same_axes(op)


class BorderPadDxLayer(PerElementLayer[BorderPadDxOp]):
    """Each element of dy added to the one it is a copy of; one vector operation an element of dy."""

    op = BorderPadDxOp

    def evaluate(self, op: BorderPadDxOp, *arrays: Array) -> tuple[Array, ...]:
        (dy,) = arrays
        dx = np.zeros(shape_of(op.dx), dtype=dy.dtype, like=dy)
        np.add.at(dx, np.ix_(*_sources(op, dx.shape, dy.shape)), dy)
        return (dx,)


def slice(b: GraphBuilder, x: Value, axis: int, start: int = 0, stop: OptInt = None, step: int = 1) -> SSAValue:
    """The elements from `start` to before `stop` along an axis, each `step`-th; both may count from the end."""
    shape, starts, spread = _range(x, axis, start, stop, step)
    return x if shape == shape_of(x) else b.emit(SliceOp(x, results=[shaped(x, shape)], starts=starts, **spread)).out


def slice_scatter(
    b: GraphBuilder, x: Value, src: Value, axis: int, start: int = 0, stop: OptInt = None, step: int = 1
) -> SSAValue:
    """x with src in place of `slice(x, axis, start, stop, step)`."""
    shape, starts, spread = _range(x, axis, start, stop, step)
    if shape_of(src) != shape:
        raise ArgumentError("src", f"found {list(shape_of(src))}, expected the shape of the slice, {list(shape)}")
    if shape == shape_of(x):
        return src
    return b.emit(SlicePutOp(x, src, results=None, starts=starts, **spread)).out


def select_scatter(b: GraphBuilder, x: Value, src: Value, axis: int, index: int) -> SSAValue:
    """x with src in place of its part at one index along an axis; src lacks that axis."""
    shape = list(shape_of(x))
    axis = normal_axis("axis", axis, len(shape))
    size, shape[axis] = shape[axis], 1
    if not -size <= index < size:
        raise ArgumentError("index", f"found {index}, expected {-size} to {size - 1} for axis {axis}")
    if shape_of(src) != (*shape[:axis], *shape[axis + 1 :]):
        part = [*shape[:axis], *shape[axis + 1 :]]
        raise ArgumentError("src", f"found {list(shape_of(src))}, expected the shape of a part, {part}")
    return slice_scatter(b, x, view(src, shape, b.emit), axis, index % size, index % size + 1)


def _range(
    x: SSAValue, axis: int, start: int, stop: OptInt, step: int
) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, tuple[int, ...]]]:
    """The shape of a slice, its starts, and its steps where there are any."""
    shape = list(shape_of(x))
    axis = normal_axis("axis", axis, len(shape))
    size = shape[axis]
    first = _position("start", start, size, axis)
    end = size if stop is None else _position("stop", stop, size, axis)
    if step < 1:
        raise ArgumentError("step", f"found {step}, expected a positive integer", "flip(x, axis) reverses an axis")
    if end <= first:
        name = "start" if stop is None else "stop"
        message = f"found {first} to before {end} along axis {axis} of size {size}, which holds no element"
        raise ArgumentError(name, message)
    shape[axis] = -(-(end - first) // step)
    spread: dict[str, tuple[int, ...]] = {}
    if step > 1 and shape[axis] > 1:
        spread["steps"] = tuple(step if i == axis else 1 for i in range(len(shape)))
    return tuple(shape), tuple(first if i == axis else 0 for i in range(len(shape))), spread


def _position(argument: str, position: int, size: int, axis: int) -> int:
    if not -size <= position <= size:
        raise ArgumentError(argument, f"found {position}, expected {-size} to {size} for axis {axis} of size {size}")
    return position + size if position < 0 else position


def pad(b: GraphBuilder, x: Value, padding: Ints, value: float = 0.0, mode: str = "constant") -> SSAValue:
    """
    x with `padding` [before, after] of its last axis, then of the one before it, …: filled with `value`, or mirrored
    (mode "reflect"), its border repeated ("replicate"), or all of it ("circular"). Negative padding crops.
    """
    shape = shape_of(x)
    if len(padding) % 2 or not 0 < len(padding) <= 2 * len(shape):
        message = f"found a list of {len(padding)}, expected two integers for each of up to {len(shape)} axes"
        raise ArgumentError("padding", message, "[before, after] of the last axis come first")
    if mode != "constant" and mode not in BORDER_MODES:
        raise ArgumentError("mode", f"found '{mode}', expected one of constant, {', '.join(BORDER_MODES)}")
    before, after = [0] * len(shape), [0] * len(shape)
    for number in range(len(padding) // 2):
        before[-1 - number], after[-1 - number] = padding[2 * number], padding[2 * number + 1]
    x = _cropped(b, x, before, after, padding)
    before, after = [max(0, n) for n in before], [max(0, n) for n in after]
    if not any((*before, *after)):
        return x
    starts = tuple(before)
    padded = shaped(x, [i + size + j for i, size, j in zip(before, shape_of(x), after, strict=True)])
    if mode == "constant":
        check_value("value", value, tensor_type(x).element_type)
        return b.emit(PadOp(x, results=[padded], starts=starts, value=float(value))).out
    if value != 0.0:
        raise ArgumentError("value", f"found {value} with mode '{mode}', which takes no value")
    if mode != "replicate":
        room = 1 if mode == "reflect" else 0
        for axis, size in enumerate(shape_of(x)):
            if max(before[axis], after[axis]) > size - room:
                message = f"found {max(before[axis], after[axis])} for axis {axis} of size {size}"
                most = "less than the size to reflect" if room else "at most the size to repeat"
                raise ArgumentError("padding", f"{message}, expected {most}")
    return b.emit(BorderPadOp(x, results=[padded], starts=starts, mode=mode)).out


def _cropped(b: GraphBuilder, x: SSAValue, before: Sequence[int], after: Sequence[int], padding: Ints) -> SSAValue:
    """x without what negative padding takes away."""
    starts = tuple(max(0, -n) for n in before)
    sizes = [size - start + min(0, n) for size, start, n in zip(shape_of(x), starts, after, strict=True)]
    if min(sizes, default=1) < 1:
        raise ArgumentError("padding", f"found {short(padding)}, which leaves nothing of {list(shape_of(x))}")
    return x if tuple(sizes) == shape_of(x) else b.emit(SliceOp(x, results=[shaped(x, sizes)], starts=starts)).out


LAYERS = (SliceLayer(), PadLayer(), SlicePutLayer(), BorderPadLayer(), BorderPadDxLayer())
FUNCTIONS = (slice, slice_scatter, select_scatter, pad)
