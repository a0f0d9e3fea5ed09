"""
Matrix work as one contraction whose index maps are invertible, with what that takes before and behind it.

    Y[b, o, y, x] += X[b, i, y * 2 + r - 1, x * 2 + s - 1] * W[o, i, r, s]
      ->  the same over X padded by 1, without the - 1
    dX[b, i, y * 2 + r - 1] += dY[b, o, y] * W[o, i, r]
      ->  dX[b, i, p] += dY'[b, o, p + r] * W'[o, i, r]      dY' is dY dilated by 2 and padded, W' is W flipped

In the contraction no index leaves its tensor, each index of the result is one dimension, and each dimension is the
whole index of some tensor, so that a compiler can tell the loops from the shapes. Channels of groups, `g * 4 + o`,
become two axes. Source of the second form: Dumoulin, Visin, "A guide to convolution arithmetic for deep learning",
2016, sections 4.4 to 4.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers import get_layer
from npuc.compiler.transforms.decompose.tracing.recorder import Recorder, Untraceable
from npuc.dialects.npu.contract import ContractOp
from npuc.dialects.npu.nest import Axis, Nest, Statement, Tensor
from npuc.dialects.tensors import shape_of, tensor_type
from npuc.dialects.train.base import TrainOp

Terms = tuple[tuple[str, int], ...]


def contraction(recorder: Recorder, op: TrainOp, operands: Sequence[SSAValue], element: Attribute) -> SSAValue:
    """The result of matrix work. Raises `Untraceable` for nests of another kind than those of products and windows."""
    nest = _nest(op)
    if len(nest.statements) != 1 or nest.starts != (None,):
        raise Untraceable("its loop nest has several statements, or sums that start with a value")
    (statement,), (out,) = nest.statements, nest.outs
    sides = {t.name: _Side(recorder, v, list(t.axes)) for t, v in zip(nest.ins, operands, strict=True)}
    lhs, rhs = sides[statement.lhs], sides[statement.rhs]
    sizes = dict(nest.sizes)
    rest = _Rest(recorder, out.shape)
    for axis, size in zip(out.axes, out.shape, strict=True):
        _result_axis(axis, size, rest, lhs, rhs, sizes)
    for side in (lhs, rhs):
        side.settle(sizes)
    names = [dim for dim in rest.dims if dim is not None]
    result = Tensor(out.name, tuple(sizes[dim] for dim in names), tuple(Axis(((dim, 1),)) for dim in names))
    ins = tuple(Tensor(n, shape_of(s.value), tuple(s.axes)) for n, s in ((t.name, sides[t.name]) for t in nest.ins))
    used = {dim for tensor in (*ins, result) for dim in tensor.dims}
    dims = tuple((dim, size) for dim, size in sizes.items() if dim in used) or (("b", 1),)
    plain = Nest(dims, ins, (result,), (None,), (Statement(out.name, statement.lhs, statement.rhs),))
    values = [sides[tensor.name].value for tensor in nest.ins]
    return rest.restore(recorder.one(ContractOp(values, plain, element)))


def _nest(op: TrainOp) -> Nest:
    """The loop nest of matrix work, by its layer."""
    emitted: list[Operation] = []

    def emit(new: Operation) -> Operation:
        emitted.append(new)
        return new

    get_layer(op).lower(op, emit)
    nests = [new.nest_attr.data for new in emitted if isinstance(new, ContractOp)]
    found = len(emitted)
    for new in reversed(emitted):
        new.erase()
    if len(nests) != 1 or found != 1:
        raise Untraceable("its layer lowers it to more than one contraction")
    return nests[0]


def _digits(terms: Terms, sizes: dict[str, int], whole: int) -> list[str] | None:
    """The dimensions of an index that are its mixed-radix digits, the first one slowest; None for another index."""
    left = whole
    ordered = sorted(terms, key=lambda term: -term[1])
    for dim, coefficient in ordered:
        if coefficient * sizes[dim] != left:
            return None
        left = coefficient
    return [dim for dim, _ in ordered] if left == 1 else None


@frozen
class _Box:
    """Of an axis whose elements lie `apart`: `size` positions from `low` on, `step` apart, zeros beyond the tensor."""

    low: int
    size: int
    step: int = 1
    apart: int = 1

    def padded(self, size: int) -> tuple[int, int]:
        """Zeros before an axis of a size, and its size with those on both sides."""
        before, long = max(0, -self.low), (size - 1) * self.apart + 1
        return before, before + max(long, self.low + (self.size - 1) * self.step + 1)


@dataclass
class _Side:
    """An operand on its way: its value, the index of each of its axes, and the boxes to be taken of some axes."""

    recorder: Recorder
    value: SSAValue
    axes: list[Axis]

    def __post_init__(self) -> None:
        self.boxes: dict[int, _Box] = {}

    def axis_of(self, dim: str) -> int | None:
        """The axis whose index is this dimension as it stands."""
        return next((number for number, axis in enumerate(self.axes) if axis.terms == ((dim, 1),)), None)

    def settle(self, sizes: dict[str, int]) -> None:
        """Make every index plain where it can be, else a sum of two dimensions that stays inside the tensor."""
        for number, (axis, size) in enumerate(zip(self.axes, shape_of(self.value), strict=True)):
            if number in self.boxes:
                continue
            if len(axis.terms) <= 1:
                (dim, step) = axis.terms[0] if axis.terms else (None, 1)
                self.boxes[number] = _Box(axis.offset, 1 if dim is None else sizes[dim], step)
                self.axes[number] = Axis(() if dim is None else ((dim, 1),))
            elif axis.offset or _digits(axis.terms, sizes, size) is None:
                self.boxes[number] = _Box(axis.offset, axis.span(sizes))
                self.axes[number] = Axis(axis.terms)
        self._take_boxes()
        shape, axes = list[int](), list[Axis]()
        for axis, size in zip(self.axes, shape_of(self.value), strict=True):
            digits = _digits(axis.terms, sizes, size) if axis.terms else []
            if digits is None:
                shape.append(size)
                axes.append(axis)
            else:
                shape += [sizes[dim] for dim in digits]
                axes += [Axis(((dim, 1),)) for dim in digits]
        self.value, self.axes = self.recorder.reshape(self.value, shape), axes

    def _take_boxes(self) -> None:
        """The boxes of all axes, by one padding and one slice."""
        shape = shape_of(self.value)
        boxes = [self.boxes.get(number, _Box(0, size)) for number, size in enumerate(shape)]
        padded = [box.padded(size) for box, size in zip(boxes, shape, strict=True)]
        starts, whole = [before for before, _ in padded], [size for _, size in padded]
        self.value = self.recorder.pad(self.value, starts, whole, [box.apart for box in boxes])
        first = [box.low + before for box, before in zip(boxes, starts, strict=True)]
        self.value = self.recorder.slice(self.value, first, [box.size for box in boxes], [box.step for box in boxes])


@dataclass
class _Rest:
    """What is left to do with the contraction's result: `dims` are its axes, None for one of size 1 that it lacks."""

    recorder: Recorder
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        self.dims: list[str | None] = []
        self.sizes: list[int] = []
        """The sizes of the axes before they are placed, an entry for each axis of the result."""
        self.starts: list[int] = []
        self.steps: list[int] = []

    def axis(self, dims: Sequence[str | None], size: int, start: int = 0, step: int = 1) -> None:
        """An axis of the result, from these dimensions, placed from `start` on at every `step`."""
        self.dims += dims
        self.sizes.append(size)
        self.starts.append(start)
        self.steps.append(step)

    def restore(self, value: SSAValue) -> SSAValue:
        """The result in its own shape; where a part of its positions lies beyond it, they are dropped."""
        value = self.recorder.reshape(value, self.sizes)
        first = [max(0, -(start // step)) for start, step in zip(self.starts, self.steps, strict=True)]
        behind = [
            min(size, -(-(whole - start) // step))
            for size, whole, start, step in zip(self.sizes, self.shape, self.starts, self.steps, strict=True)
        ]
        inside = [high - low for low, high in zip(first, behind, strict=True)]
        if any(size < 1 for size in inside):
            return self.recorder.expand(self.recorder.scalar(0.0, tensor_type(value).element_type), self.shape)
        value = self.recorder.slice(value, first, inside, [1] * len(inside))
        starts = [start + low * step for start, low, step in zip(self.starts, first, self.steps, strict=True)]
        return self.recorder.pad(value, starts, self.shape, self.steps)


def _result_axis(axis: Axis, size: int, rest: _Rest, lhs: _Side, rhs: _Side, sizes: dict[str, int]) -> None:
    """Decide how an axis of the result comes about; a sum of dimensions there moves to the operands."""
    if not axis.terms:
        rest.axis([], 1, axis.offset)
        return
    if len(axis.terms) == 1:
        ((dim, step),) = axis.terms
        rest.axis([dim], sizes[dim], axis.offset, step)
        return
    digits = _digits(axis.terms, sizes, size) if axis.offset == 0 else None
    if digits is not None:
        rest.axis(digits, prod(sizes[dim] for dim in digits))
        return
    if len(axis.terms) != 2:
        raise Untraceable("an index of its result is the sum of more than two dimensions")
    for moved, window in (axis.terms, axis.terms[::-1]):
        for rows, weight in ((lhs, rhs), (rhs, lhs)):
            if _turn(moved, window, axis.offset, size, rows, weight, sizes):
                rest.axis([moved[0]], size)
                return
    raise Untraceable("an index of its result is a sum of dimensions that no operand has by themselves")


def _turn(
    moved: tuple[str, int],
    window: tuple[str, int],
    offset: int,
    size: int,
    rows: _Side,
    weight: _Side,
    sizes: dict[str, int],
) -> bool:
    """
    Let the position `p = moved * c + window * d + offset` of the result be the dimension, in place of `moved`.

    `rows`, which `moved` indexes, is read at (p - offset - window * d) / c: at `p + w * d` of what is dilated by c and
    begins (size of the window - 1) * d + offset earlier, w counting the window backwards. False where the operands are
    not so.
    """
    (dim, apart), (offset_dim, dilation) = moved, window
    own, other = rows.axis_of(dim), weight.axis_of(offset_dim)
    if own is None or other is None or any(dim in axis.dims for axis in weight.axes):
        return False
    if any(offset_dim in axis.dims for axis in rows.axes):
        return False
    reach = (sizes[offset_dim] - 1) * dilation
    rows.boxes[own] = _Box(-(reach + offset), size + reach, apart=apart)
    weight.value = weight.recorder.flip(weight.value, [other])
    rows.axes[own] = Axis(((dim, 1), (offset_dim, dilation)))
    sizes[dim] = size
    return True
