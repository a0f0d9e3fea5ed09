"""
Sorted elements: upstream MLIR has no sort, so that the rank of each element is counted, all pairs of a row at once.

The rank is the number of elements before it, equal ones in the order of their places; NaN counts as the largest number.
That is n^2 comparisons for a row of n elements, in parallel; the place of a rank is then found by as many.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import AnyFloat, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.emit.upstream.linalg.elementwise import EQ, OEQ, OLT, SLT, ULT, UNO
from npuc.compiler.emit.upstream.linalg.writer import INDEX, LinalgWriter, dims
from npuc.compiler.emit.upstream.ranges import is_unsigned
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.sort import ArgsortOp, SortOp


def _order(w: LinalgWriter, element: Attribute, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Whether a is less than b, and whether they are equal, NaN a number above all others."""
    if not isinstance(element, AnyFloat):
        return w.compare(ULT if is_unsigned(element) else SLT, a, b), w.compare(EQ, a, b)
    a_nan, b_nan = w.compare(UNO, a, a), w.compare(UNO, b, b)
    known = w.same("arith.xori", a_nan, w.number(1, i1))
    less = w.same("arith.ori", w.compare(OLT, a, b), w.same("arith.andi", known, b_nan))
    return less, w.same("arith.ori", w.compare(OEQ, a, b), w.same("arith.andi", a_nan, b_nan))


def places_in_order(
    w: LinalgWriter, x: SSAValue, element: Attribute, axis: int, *, descending: bool = False
) -> SSAValue:
    """The places of the elements of each row along an axis in their order, i32."""
    shape, rank = shape_of(x), len(shape_of(x))
    loops = dims(rank + 1)
    mine, other = loops[:rank], [loops[rank] if number == axis else loops[number] for number in range(rank)]
    type = tensor_of(i32, shape)

    def count(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        own, against, before = args
        pair = (own, against) if descending else (against, own)
        first, equal = _order(inside, element, *pair)
        earlier = inside.compare(ULT, inside.loop(rank), inside.loop(axis))
        counts = inside.same("arith.ori", first, inside.same("arith.andi", equal, earlier))
        return inside.same("arith.addi", before, inside.one("arith.extui", [counts], i32))

    (ranks,) = w.generic([(x, mine), (x, other)], [(w.filled(type, 0), mine)], rank + 1, count)

    def find(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        found, place = args
        wanted = inside.one("arith.index_cast", [inside.loop(axis)], i32)
        here = inside.one("arith.index_cast", [inside.loop(rank)], i32)
        return inside.select(inside.compare(EQ, found, wanted), here, place)

    return w.generic([(ranks, other)], [(w.filled(type, 0), mine)], rank + 1, find)[0]


def _sort(w: LinalgWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Values and places, or the places alone."""
    assert isinstance(op, SortOp | ArgsortOp)
    (x,), element = operands, tensor_type(op.x).element_type
    shape, rank = shape_of(x), len(shape_of(x))
    axis = op.axis.value.data % rank
    places = places_in_order(w, x, element, axis, descending=op.descending is not None)
    if isinstance(op, ArgsortOp):
        return [places]

    def take(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        at = [inside.loop(number) for number in range(rank)]
        at[axis] = inside.one("arith.index_cast", [args[0]], INDEX)
        return inside.one("tensor.extract", [x, *at], tensor_type(x).element_type)

    empty = w.empty(tensor_of(tensor_type(x).element_type, shape))
    return [w.generic_of([places], [dims(rank)], [empty], rank, take)[0], places]


LOWERINGS = {"train.sort": _sort, "train.argsort": _sort}
