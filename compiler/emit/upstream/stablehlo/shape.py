"""Constants, and primitives that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, i1, i64
from xdsl.ir import Operation, SSAValue

from npuc.compiler.emit.upstream.stablehlo.writer import StablehloWriter, axes_attr
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import ConstantOp
from npuc.dialects.train.base import decode, ints
from npuc.dialects.train.box import PadOp, SliceOp, SlicePutOp
from npuc.dialects.train.constant import ArangeOp, IntegersOp, ListedNumbersOp
from npuc.dialects.train.join import ConcatOp
from npuc.dialects.train.order import FlipOp
from npuc.dialects.train.shape import TransposeOp


def _constant(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, ConstantOp)
    return [w.listed(tensor_type(op.out), [op.value.value.data])]


def _integers(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, IntegersOp)
    return [w.listed(tensor_type(op.out), ints(op.values))]


def _numbers(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, ListedNumbersOp)
    return [w.listed(tensor_type(op.out), cast("tuple[float, ...]", decode(op.values)))]


def _arange(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Of integers by integers, which are exact in any type that holds them; else listed values."""
    assert isinstance(op, ArangeOp)
    type, start, step = tensor_type(op.out), float(op.start.value.data), float(op.step.value.data)
    if not (start.is_integer() and step.is_integer()):
        values = start + np.arange(type.get_shape()[0], dtype=np.float64) * step
        return [w.listed(type, (values if isinstance(type.element_type, AnyFloat) else np.trunc(values)).tolist())]
    number = w.iota(tensor_of(i64, type.get_shape()), 0)
    scaled = w.same("multiply", number, w.number(step, number))
    return [w.convert(w.same("add", scaled, w.number(start, number)), type.element_type)]


def _reshape(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    return [w.reshape(operands[0], shape_of(op.results[0]))]


def _transpose(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, TransposeOp)
    return [w.transpose(operands[0], ints(op.axes))]


def _expand(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    return [w.broadcast(operands[0], shape_of(op.results[0]))]


def _flip(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, FlipOp)
    return [w.one("reverse", operands, operands[0].type, dimensions=axes_attr(ints(op.axes)))]


def _slice(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, SliceOp)
    return [w.slice(operands[0], ints(op.starts), shape_of(op.out), None if op.steps is None else ints(op.steps))]


def _steps(op: PadOp | SlicePutOp) -> tuple[int, ...]:
    return (1,) * len(ints(op.starts)) if op.steps is None else ints(op.steps)


def _pad(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, PadOp)
    return [w.pad(operands[0], ints(op.starts), _steps(op), shape_of(op.out), op.value.value.data)]


def _slice_put(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """A box in place; with steps the elements of src where they go, chosen where they are."""
    assert isinstance(op, SlicePutOp)
    (x, src), starts, shape = operands, ints(op.starts), shape_of(op.out)
    if op.steps is None:
        return [w.put(src, x, starts)]
    there = w.pad(w.listed(tensor_of(i1, shape_of(src)), [1]), starts, _steps(op), shape, 0)
    return [w.select(there, w.pad(src, starts, _steps(op), shape, 0), x)]


def _concat(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, ConcatOp)
    return [w.concat(operands, op.axis.value.data % len(shape_of(op.out)))]


LOWERINGS = {
    "train.constant": _constant,
    "train.integers": _integers,
    "train.numbers": _numbers,
    "train.arange": _arange,
    "train.reshape": _reshape,
    "train.transpose": _transpose,
    "train.expand": _expand,
    "train.flip": _flip,
    "train.slice": _slice,
    "train.pad": _pad,
    "train.slice_put": _slice_put,
    "train.concat": _concat,
}
