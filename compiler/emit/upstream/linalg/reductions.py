"""Reductions: a `linalg.generic` into a tensor that begins with the neutral element, which lacks the reduced axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AnyFloat, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.emit.upstream.linalg.elementwise import (
    ADD,
    MAX,
    MIN,
    MUL,
    OGT,
    OLT,
    SGT,
    SLT,
    UGT,
    ULT,
    UNO,
    Scalar,
    convert,
)
from npuc.compiler.emit.upstream.linalg.shape import reshaped
from npuc.compiler.emit.upstream.linalg.writer import LinalgWriter, dims, plain, plain_type
from npuc.compiler.emit.upstream.ranges import bounds, is_unsigned, reduced_axes, wide
from npuc.dialects.tensors import Tensor, shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import ints
from npuc.dialects.train.extreme import AmaxOp, AminOp, ArgmaxOp, ArgminOp
from npuc.dialects.train.reduction import ProdOp


def _reduced(
    w: LinalgWriter, x: SSAValue, axes: Sequence[int], out: Tensor, element: Attribute, start: float, combine: Scalar
) -> SSAValue:
    """x combined over axes, in f32 for shorter floats, in the shape of the result."""
    rank, sums = len(shape_of(x)), plain(wide(element))
    kept = [axis for axis in range(rank) if axis not in axes]
    initial = w.filled(tensor_of(sums, [shape_of(x)[axis] for axis in kept]), start)
    exprs = dims(rank)

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        return combine(inside, element, [args[1], convert(inside, args[0], element, wide(element))])

    (found,) = w.generic([(x, exprs)], [(initial, [exprs[axis] for axis in kept])], rank, body)
    if sums != plain(element):
        narrow = tensor_of(plain(element), shape_of(found))
        found = w.elementwise(narrow, [found], lambda inside, args: convert(inside, args[0], sums, element))
    return reshaped(w, found, out.get_shape())


def _or(w: LinalgWriter, element: Attribute, args: Sequence[SSAValue]) -> SSAValue:
    return w.same("arith.ori", *args)


def _reduce(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Sums; of booleans, whether one is true."""
    x, element = operands[0], tensor_type(op.operands[0]).element_type
    out = cast(Tensor, plain_type(op.results[0].type))
    axes = reduced_axes(shape_of(x), out.get_shape())
    return [_reduced(w, x, axes, out, element, 0, _or if element == i1 else ADD)]


def _over_axes(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Extremes and products over listed axes."""
    assert isinstance(op, AmaxOp | AminOp | ProdOp)
    element = tensor_type(op.x).element_type
    least, greatest = bounds(element)
    start, combine = {
        "train.amax": (least, MAX),
        "train.amin": (greatest, MIN),
        "train.prod": (1, MUL),
    }[op.name]
    out = cast(Tensor, plain_type(op.out.type))
    return [_reduced(w, operands[0], ints(op.axes), out, element, start, combine)]


def _place(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """The first extreme and its index, two results of one reduction; the first NaN is the extreme if there is one."""
    assert isinstance(op, ArgmaxOp | ArgminOp)
    largest, element = isinstance(op, ArgmaxOp), tensor_type(op.x).element_type
    x, shape = operands[0], shape_of(operands[0])
    axis = op.axis.value.data % len(shape)
    kept = [number for number in range(len(shape)) if number != axis]
    sizes = [shape[number] for number in kept]
    start = w.filled(tensor_of(plain(element), sizes), bounds(element)[0 if largest else 1])
    first = w.filled(tensor_of(i32, sizes), 0)
    exprs = dims(len(shape))
    outs = [exprs[number] for number in kept]

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> list[SSAValue]:
        value, best, place = args
        if isinstance(element, AnyFloat):
            better = inside.compare(OGT if largest else OLT, value, best)
            unknown = inside.compare(UNO, value, value)
            known = inside.same("arith.xori", inside.compare(UNO, best, best), inside.number(1, i1))
            better = inside.same("arith.ori", better, inside.same("arith.andi", unknown, known))
        elif is_unsigned(element):
            better = inside.compare(UGT if largest else ULT, value, best)
        else:
            better = inside.compare(SGT if largest else SLT, value, best)
        here = inside.one("arith.index_cast", [inside.loop(axis)], i32)
        return [inside.select(better, value, best), inside.select(better, here, place)]

    found = w.generic([(x, exprs)], [(start, outs), (first, outs)], len(shape), body)[1]
    return [reshaped(w, found, shape_of(op.out))]


LOWERINGS = {
    "train.reduce": _reduce,
    **dict.fromkeys(("train.amax", "train.amin", "train.prod"), _over_axes),
    **dict.fromkeys(("train.argmax", "train.argmin"), _place),
}
