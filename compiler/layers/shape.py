"""
Reshapes, transpositions and copies along axes. A reshape is a view and moves nothing; the others
move what they read and write.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from npuc.compiler.core.builder import GraphBuilder
from npuc.compiler.layers.arguments import ArgumentError, Ints, OptInts, Value, new_axis, normal_axes, normal_axis
from npuc.compiler.layers.base import Array, Cut, Emit, Gradients, Joined, Kind, Layer, Pieces, broadcast_cuts, elements
from npuc.compiler.layers.cuts import reshape_cuts
from npuc.dialects.tensors import Tensor, shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import ReduceOp
from npuc.dialects.train.base import ints
from npuc.dialects.train.shape import DetachOp, ExpandOp, ReshapeOp, TransposeOp


def shaped(value: SSAValue, shape: Sequence[int]) -> Tensor:
    """The type of a tensor with a value's elements and another shape."""
    return tensor_of(tensor_type(value).element_type, shape)


def view(value: SSAValue, shape: Sequence[int], emit: Emit[Any]) -> SSAValue:
    """A value under another shape; itself where that is its own."""
    if shape_of(value) == tuple(shape):
        return value
    return emit(ReshapeOp(value, results=[shaped(value, shape)])).out


class ReshapeLayer(Layer[ReshapeOp]):
    """The same elements in row-major order."""

    op = ReshapeOp
    kind = Kind.VIEW

    def evaluate(self, op: ReshapeOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (x.reshape(shape_of(op.out)),)

    def vjp(self, op: ReshapeOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(ReshapeOp(g, results=[shaped(g, shape_of(op.x))])).out]

    def cuts(self, op: ReshapeOp) -> Sequence[Cut]:
        return reshape_cuts(op)


class DetachLayer(Layer[DetachOp]):
    """The same tensor; its gradient ends here."""

    op = DetachOp
    kind = Kind.VIEW
    without_gradient = (0,)

    def evaluate(self, op: DetachOp, *arrays: Array) -> tuple[Array, ...]:
        return (arrays[0],)

    def vjp(self, op: DetachOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        return [None]

    def cuts(self, op: DetachOp) -> Sequence[Cut]:
        return broadcast_cuts(op)


class TransposeLayer(Layer[TransposeOp]):
    """Axes in another order."""

    op = TransposeOp
    kind = Kind.DATA

    def shown(self, op: TransposeOp) -> Joined | Pieces | None:
        return Joined()

    def evaluate(self, op: TransposeOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.ascontiguousarray(x.transpose(ints(op.axes))),)

    def vjp(
        self, op: TransposeOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]
    ) -> Gradients:
        (g,) = grads
        assert g is not None
        axes = ints(op.axes)
        return [emit(TransposeOp(g, axes=tuple(axes.index(i) for i in range(len(axes))))).out]

    def cuts(self, op: TransposeOp) -> Sequence[Cut]:
        shape = shape_of(op.out)
        return [Cut((own,), (axis,)) for axis, own in enumerate(ints(op.axes)) if shape[axis] > 1]


class ExpandLayer(Layer[ExpandOp]):
    """Copies along new axes and along axes of size 1; x is read once."""

    op = ExpandOp
    kind = Kind.DATA

    def shown(self, op: ExpandOp) -> Joined | Pieces | None:
        return Joined()

    def evaluate(self, op: ExpandOp, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        return (np.broadcast_to(x, shape_of(op.out)).copy(),)

    def vjp(self, op: ExpandOp, grads: Sequence[SSAValue | None], needs: Sequence[bool], emit: Emit[Any]) -> Gradients:
        (g,) = grads
        assert g is not None
        return [emit(ReduceOp(g, results=[op.x.type])).out]

    def cuts(self, op: ExpandOp) -> Sequence[Cut]:
        return broadcast_cuts(op)


def reshape(b: GraphBuilder, x: Value, shape: Ints) -> SSAValue:
    """The same elements in row-major order under another shape; one size may be -1, meaning what is left."""
    sizes, total = list(shape), elements(x)
    if any(s < -1 or s == 0 for s in sizes) or sizes.count(-1) > 1:
        raise ArgumentError("shape", f"found {sizes}, expected positive sizes with at most one -1")
    known = prod(s for s in sizes if s != -1)
    if -1 in sizes:
        if total % known:
            raise ArgumentError("shape", f"found {sizes}, {total} elements do not divide by {known}")
        sizes[sizes.index(-1)] = total // known
    return b.emit(ReshapeOp(x, results=[shaped(x, sizes)])).out


def flatten(b: GraphBuilder, x: Value, start: int = 1) -> SSAValue:
    """Merge all axes from `start` on into one."""
    shape = shape_of(x)
    first = normal_axis("start", start, len(shape)) if shape else 0
    return b.emit(ReshapeOp(x, results=[shaped(x, [*shape[:first], prod(shape[first:])])])).out


def transpose(b: GraphBuilder, x: Value, axes: Ints) -> SSAValue:
    """Axis i of the result is axis axes[i] of x."""
    return b.emit(TransposeOp(x, axes=tuple(normal_axis("axes", a, len(shape_of(x))) for a in axes))).out


def squeeze(b: GraphBuilder, x: Value, axis: OptInts = None) -> SSAValue:
    """Drop axes of size 1: one, a list, or all of them."""
    shape = shape_of(x)
    if axis is None:
        return view(x, [size for size in shape if size != 1], b.emit)
    axes = normal_axes("axis", axis, len(shape))
    for one in axes:
        if shape[one] != 1:
            raise ArgumentError("axis", f"found axis {one} of size {shape[one]}, expected an axis of size 1")
    return view(x, [size for i, size in enumerate(shape) if i not in axes], b.emit)


def unsqueeze(b: GraphBuilder, x: Value, axis: int) -> SSAValue:
    """Add an axis of size 1; `axis` is its place in the result."""
    shape = list(shape_of(x))
    shape.insert(new_axis("axis", axis, len(shape)), 1)
    return view(x, shape, b.emit)


def expand(b: GraphBuilder, x: Value, shape: Ints) -> SSAValue:
    """x repeated along its axes of size 1, and along new leading axes, to another shape; -1 keeps a size."""
    own, sizes = shape_of(x), list(shape)
    new = len(sizes) - len(own)
    if new < 0:
        raise ArgumentError("shape", f"found {sizes}, expected at least {len(own)} sizes")
    for i, size in enumerate(sizes):
        old = own[i - new] if i >= new else None
        if size == -1 and old is not None:
            sizes[i] = old
        elif size < 1 or (old not in (None, 1) and size != old):
            kept = "a positive size" if old in (None, 1) else f"{old} or -1"
            raise ArgumentError("shape", f"found {size} at place {i}, expected {kept}")
    return x if tuple(sizes) == own else b.emit(ExpandOp(x, results=[shaped(x, sizes)])).out


def repeat(b: GraphBuilder, x: Value, repeats: Ints) -> SSAValue:
    """Copies of x one behind the other along each axis; more numbers than axes add leading axes."""
    if len(repeats) < len(shape_of(x)) or any(count < 1 for count in repeats):
        raise ArgumentError("repeats", f"found {list(repeats)}, expected {len(shape_of(x))} or more positive integers")
    own = [1] * (len(repeats) - len(shape_of(x))) + list(shape_of(x))
    before: list[int] = []
    after: list[int] = []
    for size, count in zip(own, repeats, strict=True):
        before += [size] if count == 1 else [1, size]
        after += [size] if count == 1 else [count, size]
    copies = expand(b, view(x, before, b.emit), after)
    return view(copies, [size * count for size, count in zip(own, repeats, strict=True)], b.emit)


def detach(b: GraphBuilder, x: Value) -> SSAValue:
    """x as a constant: the loss's gradient does not pass (PyTorch's `detach`, elsewhere stop_gradient)."""
    return b.emit(DetachOp(x)).out


LAYERS = (ReshapeLayer(), DetachLayer(), TransposeLayer(), ExpandLayer())
FUNCTIONS = (reshape, flatten, transpose, squeeze, unsqueeze, expand, repeat, detach)
