"""Primitives that move elements: reshapes, transpositions, copies along axes, boxes, and joined or reversed tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from npuc.compiler.emit.upstream.linalg.writer import LinalgWriter, dims, plain_type
from npuc.compiler.emit.upstream.reassociation import groups_of
from npuc.dialects.tensors import Tensor, shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import ints
from npuc.dialects.train.box import PadOp, SliceOp, SlicePutOp
from npuc.dialects.train.join import ConcatOp
from npuc.dialects.train.order import FlipOp
from npuc.dialects.train.shape import TransposeOp

Axes = Sequence[Sequence[int]]


def _out(op: Operation) -> Tensor:
    return cast(Tensor, plain_type(op.results[0].type))


def copied(w: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
    """The body that yields its first operand."""
    return args[0]


def _grouped(groups: Axes) -> Attribute:
    return ArrayAttr([ArrayAttr([IntegerAttr(axis, i64) for axis in group]) for group in groups])


def collapse(w: LinalgWriter, x: SSAValue, groups: Axes) -> SSAValue:
    """A tensor with each group of neighbouring axes as one."""
    if all(len(group) == 1 for group in groups) and len(groups) == len(shape_of(x)):
        return x
    shape = [prod(shape_of(x)[axis] for axis in group) for group in groups]
    type = tensor_of(tensor_type(x).element_type, shape)
    return w.one("tensor.collapse_shape", [x], type, reassociation=_grouped(groups))


def unfold(w: LinalgWriter, x: SSAValue, shape: Sequence[int], groups: Axes) -> SSAValue:
    """A tensor with each axis as a group of neighbouring ones, which have the shape."""
    if all(len(group) == 1 for group in groups) and len(groups) == len(shape):
        return x
    type = tensor_of(tensor_type(x).element_type, shape)
    sizes = DenseArrayBase.from_list(i64, list(shape))
    return w.one("tensor.expand_shape", [x], type, reassociation=_grouped(groups), static_output_shape=sizes)


def reshaped(w: LinalgWriter, x: SSAValue, shape: Sequence[int]) -> SSAValue:
    """The elements of a tensor in another shape: groups of axes as one, then as others."""
    before = shape_of(x)
    if tuple(shape) == before:
        return x
    element = tensor_type(x).element_type
    if not before:  # groups of no axes are allowed by MLIR, and refused by xDSL
        return w.elementwise(tensor_of(element, shape), [x], copied)
    if not shape:
        return w.box(x, [0] * len(before), before, tensor_of(element, ()))
    groups = groups_of(before, shape)
    return unfold(w, collapse(w, x, [left for left, _ in groups]), shape, [right for _, right in groups])


def _reshape(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    return [reshaped(w, operands[0], _out(op).get_shape())]


def transposed(w: LinalgWriter, x: SSAValue, axes: Sequence[int]) -> SSAValue:
    """Axis i of the result is axis axes[i] of x."""
    if list(axes) == list(range(len(axes))):
        return x
    type = tensor_of(tensor_type(x).element_type, [shape_of(x)[axis] for axis in axes])
    exprs = [AffineExpr.dimension(axes.index(axis)) for axis in range(len(axes))]
    return w.generic_of([x], [exprs], [w.empty(type)], len(axes), copied)[0]


def _transpose(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, TransposeOp)
    return [transposed(w, operands[0], ints(op.axes))]


def _expand(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    return [operands[0] if shape_of(operands[0]) == _out(op).get_shape() else w.elementwise(_out(op), operands, copied)]


def _flip(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Elements at reversed places, which are computed: as an index expression they could not be inverted."""
    assert isinstance(op, FlipOp)
    type, flipped = _out(op), ints(op.axes)
    shape = type.get_shape()

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        at = [inside.loop(axis) for axis in range(len(shape))]
        for axis in flipped:
            at[axis] = inside.same("arith.subi", inside.index(shape[axis] - 1), at[axis])
        return inside.one("tensor.extract", [operands[0], *at], type.element_type)

    return list(w.generic_of([], [], [w.empty(type)], len(shape), body))


def _slice(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """A box; with steps a `linalg.generic` that reads at multiples of loops."""
    assert isinstance(op, SliceOp)
    type, starts = _out(op), ints(op.starts)
    shape = type.get_shape()
    if op.steps is None:
        return [w.box(operands[0], starts, shape, type)]
    steps = ints(op.steps)
    spans = [(size - 1) * step + 1 for size, step in zip(shape, steps, strict=True)]
    inside = w.box(operands[0], starts, spans, tensor_of(type.element_type, spans))
    exprs = [at * step if step > 1 else at for at, step in zip(dims(len(shape)), steps, strict=True)]
    return list(w.generic_of([inside], [exprs], [w.empty(type)], len(shape), copied))


def padded(w: LinalgWriter, x: SSAValue, low: Sequence[int], high: Sequence[int], value: float) -> SSAValue:
    """A tensor with copies of a value before and behind each axis."""
    if not any((*low, *high)):
        return x
    element = tensor_type(x).element_type
    sizes = [before + size + after for before, size, after in zip(low, shape_of(x), high, strict=True)]
    block = Block(arg_types=[w.index(0).type] * len(sizes))
    filling = w.number(value, element)
    LinalgWriter(block).op("tensor.yield", [filling], ())
    properties: dict[str, Attribute] = {
        "static_low": DenseArrayBase.from_list(i64, list(low)),
        "static_high": DenseArrayBase.from_list(i64, list(high)),
    }
    (result,) = w.op("tensor.pad", [x], [tensor_of(element, sizes)], properties, [Region(block)], (1, 0, 0))
    return result


def spread(w: LinalgWriter, x: SSAValue, steps: Sequence[int], value: float) -> SSAValue:
    """
    A tensor with each element at a multiple of its axis' step, copies of a value between and behind them.

    Each axis gets a neighbour of the size of its step, of which the first is x and the others are copies.
    """
    shape, pairs, groups = shape_of(x), list[int](), list[list[int]]()
    for size, step in zip(shape, steps, strict=True):
        groups.append([len(pairs)] if step == 1 else [len(pairs), len(pairs) + 1])
        pairs += [size] if step == 1 else [size, 1]
    wide = unfold(w, x, pairs, groups)
    high = [0] * len(pairs)
    for group, step in zip(groups, steps, strict=True):
        high[group[-1]] = step - 1
    return collapse(w, padded(w, wide, [0] * len(pairs), high, value), groups)


def _pad(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, PadOp)
    x, value, starts = operands[0], op.value.value.data, ints(op.starts)
    if op.steps is not None:
        sizes = [(size - 1) * step + 1 for size, step in zip(shape_of(x), ints(op.steps), strict=True)]
        wide = spread(w, x, ints(op.steps), value)
        x = w.box(wide, [0] * len(sizes), sizes, tensor_of(tensor_type(x).element_type, sizes))
    behind = [
        whole - start - size for whole, start, size in zip(_out(op).get_shape(), starts, shape_of(x), strict=True)
    ]
    return [padded(w, x, starts, behind, value)]


def _slice_put(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, SlicePutOp)
    x, src = operands
    steps = None if op.steps is None else ints(op.steps)
    return [w.put(src, x, ints(op.starts), shape_of(src), steps)]


def _concat(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Each operand is put into its place of the result."""
    assert isinstance(op, ConcatOp)
    axis = op.axis.value.data % len(_out(op).get_shape())
    whole, at = w.empty(_out(op)), 0
    for part in operands:
        starts = [at if number == axis else 0 for number in range(len(shape_of(part)))]
        whole = w.put(part, whole, starts, shape_of(part))
        at += shape_of(part)[axis]
    return [whole]


LOWERINGS = {
    "train.reshape": _reshape,
    "train.transpose": _transpose,
    "train.expand": _expand,
    "train.flip": _flip,
    "train.slice": _slice,
    "train.pad": _pad,
    "train.slice_put": _slice_put,
    "train.concat": _concat,
}
