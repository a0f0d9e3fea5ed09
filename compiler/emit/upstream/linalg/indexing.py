"""
Elements at indices. Reading is a `linalg.generic` that extracts. Writing is a reduction over the written elements, each
compared with each place, where that is little work; else the places read what is written there (`writes.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Operation, SSAValue

from npuc.compiler.emit.upstream.linalg.elementwise import ADD, EQ, MAX, MIN, MUL, SGE, Scalar
from npuc.compiler.emit.upstream.linalg.writer import INDEX, Body, LinalgWriter, broadcast_exprs, dims
from npuc.compiler.emit.upstream.linalg.writes import back, from_start, part_of, written
from npuc.compiler.emit.upstream.placing import Placing, placing_of
from npuc.compiler.emit.upstream.ranges import neutral
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import ints
from npuc.dialects.train.indexing import INDEXED, IndexOp
from npuc.dialects.train.scatter import IndexPutOp, IndexReduceOp

COMPARED = 1 << 27
"""The most comparisons that writing by a reduction may take."""
_COMBINE: Mapping[str, Scalar] = {"add": ADD, "mul": MUL, "max": MAX, "min": MIN}


def _index(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, IndexOp)
    x, *index = operands
    picked, axes, element = shape_of(op.out), ints(op.axes), tensor_type(x).element_type
    negative = op.negative is not None

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        left = iter(args)
        at = [
            from_start(inside, next(left), size, negative=negative) if place == INDEXED else inside.loop(place)
            for place, size in zip(axes, shape_of(x), strict=True)
        ]
        return inside.one("tensor.extract", [x, *at], element)

    exprs = [broadcast_exprs(shape_of(one), picked) for one in index]
    return list(w.generic_of(index, exprs, [w.empty(tensor_of(element, picked))], len(picked), body))


def _matched(w: LinalgWriter, by: Placing, initial: SSAValue, body: Body, *, reads: bool) -> SSAValue:
    """
    A reduction over the free axes of src into `initial`, a tensor of the part of x that may be written.

    `body` gets whether the indices of an element of src are those of the place, the element if it `reads` it, and what
    is at the place so far.
    """
    rank, count = len(shape_of(by.src)), len(by.index)
    loops = dims(rank + count)
    places = iter(range(rank, rank + count))
    out = [loops[next(places) if at == INDEXED else at] for at in by.axes]
    indexed = [size for at, size in zip(by.axes, shape_of(by.x), strict=True) if at == INDEXED]

    def match(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue | Sequence[SSAValue]:
        found: SSAValue | None = None
        for number, (size, arg) in enumerate(zip(indexed, args, strict=False)):
            at = from_start(inside, arg, size, negative=by.negative)
            equal = inside.compare(EQ, at, inside.loop(rank + number))
            found = equal if found is None else inside.same("arith.andi", found, equal)
        return body(inside, [found if found is not None else inside.number(1, i1), *args[count:]])

    ins = [(one, broadcast_exprs(shape_of(one), shape_of(by.src))) for one in by.index]
    # the shape of src is that of loops, whether its elements are read or not
    ins.append((by.src, loops[:rank]))
    found = w.generic(ins, [(initial, out)], rank + count, match if reads else _without(match, count))
    return found[0]


def _without(body: Body, place: int) -> Body:
    """A body that does not get the operand of a place."""
    return lambda inside, args: body(inside, [*args[:place], *args[place + 1 :]])


def _index_reduce(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, IndexReduceOp)
    by, combine = placing_of(op, operands), _COMBINE[op.reduce.data]
    if prod(by.sizes) * by.positions > COMPARED:
        return [written(w, by, combine)]

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        chosen, value, found = args
        return inside.select(chosen, combine(inside, by.element, [found, value]), found)

    part = part_of(w, by)
    if part is by.x:
        return [_matched(w, by, part, body, reads=True)]
    # IREE 3.13 does not take a part of an argument as what a reduction begins with
    type = tensor_of(tensor_type(part).element_type, by.sizes)
    found = _matched(w, by, w.filled(type, neutral(op.reduce.data, by.element)), body, reads=True)
    both = w.elementwise(type, [part, found], lambda inside, args: combine(inside, by.element, args[:2]))
    return [back(w, by, both)]


def _index_put(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """The number of the last element that is put at each place, whatever the order of the search; then that element."""
    assert isinstance(op, IndexPutOp)
    by = placing_of(op, operands)
    if prod(by.sizes) * by.positions > COMPARED:
        return [written(w, by, None)]
    part, shape = part_of(w, by), shape_of(by.src)

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        chosen, last = args
        number = inside.index(0)
        for axis in by.free:
            number = inside.same("arith.muli", number, inside.index(shape[axis]))
            number = inside.same("arith.addi", number, inside.loop(axis))
        here = inside.one("arith.index_cast", [number], i32)
        return inside.select(chosen, inside.same("arith.maxsi", here, last), last)

    none = w.filled(tensor_of(i32, by.sizes), -1)
    last = _matched(w, by, none, body, reads=False)

    def chosen(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        number, before = args[:2]
        there = inside.compare(SGE, number, inside.number(0, i32))
        known = inside.one("arith.index_cast", [inside.select(there, number, inside.number(0, i32))], INDEX)
        at: list[SSAValue] = [
            inside.loop(by.axes.index(axis)) if axis in by.axes else known for axis in range(len(shape))
        ]
        for axis in reversed(by.free):
            at[axis] = inside.same("arith.remui", known, inside.index(shape[axis]))
            known = inside.same("arith.divui", known, inside.index(shape[axis]))
        value = inside.one("tensor.extract", [by.src, *at], tensor_type(by.src).element_type)
        return inside.select(there, value, before)

    exprs = dims(len(by.sizes))
    empty = w.empty(tensor_of(tensor_type(part).element_type, by.sizes))
    return [back(w, by, w.generic_of([last, part], [exprs, exprs], [empty], len(by.sizes), chosen)[0])]


LOWERINGS = {"train.index": _index, "train.index_reduce": _index_reduce, "train.index_put": _index_put}
