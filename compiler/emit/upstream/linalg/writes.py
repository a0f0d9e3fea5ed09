"""
Elements written at indices of a large tensor.

Upstream MLIR has no scatter, and elements of a tensor can only be written in order by a loop around the whole tensor,
of which every iteration is a call on a device. So each place of the tensor reads what is written there: the boxes that
are written are sorted by their places, equal ones in the order in which they are written, so that those of one place
stand together; a place combines them in a loop of its own, in a `linalg.generic`. With n boxes and p places that takes
2 n^2 + p n comparisons of integers, whatever the size of a box. Where that is too much the loop is around the tensor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Region, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.compiler.emit.upstream.linalg.elementwise import SGT, SLE, SLT, Scalar
from npuc.compiler.emit.upstream.linalg.shape import transposed
from npuc.compiler.emit.upstream.linalg.sorting import places_in_order
from npuc.compiler.emit.upstream.linalg.writer import INDEX, LinalgWriter, dims
from npuc.compiler.emit.upstream.placing import Placing
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.indexing import INDEXED

SORTED = 1 << 32
"""The most comparisons that sorting the boxes, and counting those of each place, may take."""
_MOST = 1 << 31
"""A place is a number of 32 bits."""


def written(w: LinalgWriter, by: Placing, combine: Scalar | None) -> SSAValue:
    """x with what is written: combined with what is there, or in its place (None)."""
    boxes = _Boxes(by)
    if boxes.places < _MOST and boxes.count * (2 * boxes.count + boxes.places) <= SORTED:
        return back(w, by, _read_by_places(w, boxes, combine))
    return _written_in_order(w, by, combine)


@frozen
class _Boxes:
    """
    What is written of src as boxes: one for each position along `looped`, the axes that indices depend on, or that no
    axis of x goes along. `own` are the axes of x that tell the places of boxes apart.
    """

    by: Placing

    @property
    def looped(self) -> list[int]:
        """The axes of src of which each position is a box of its own, in their order."""
        axes = range(len(shape_of(self.by.src)))
        return [axis for axis in axes if axis in self.by.free or any(shape_of(i)[axis] > 1 for i in self.by.index)]

    @property
    def own(self) -> list[int]:
        """The axes of x along which boxes are at different places."""
        looped = self.looped
        return [axis for axis, at in enumerate(self.by.axes) if at == INDEXED or at in looped]

    @property
    def count(self) -> int:
        """The number of boxes."""
        return prod(shape_of(self.by.src)[axis] for axis in self.looped)

    @property
    def places(self) -> int:
        """The number of places that a box may have."""
        return prod(self.by.sizes[axis] for axis in self.own)


def _read_by_places(w: LinalgWriter, boxes: _Boxes, combine: Scalar | None) -> SSAValue:
    """The part of x that may be written, of which each element reads what is written there."""
    by = boxes.by
    keys = _keys(w, boxes)
    order, ends = places_in_order(w, keys, i32, 0), _ends(w, keys, boxes.places)
    part, element, rank = part_of(w, by), tensor_type(by.src).element_type, len(by.sizes)

    kept = {at: axis for axis, at in enumerate(by.axes) if axis not in boxes.own}

    def value(inside: LinalgWriter, number: SSAValue, known: Mapping[int, SSAValue]) -> SSAValue:
        """The element of the box that is at a place of the order, at `known` positions along axes of src."""
        box = inside.one("arith.index_cast", [inside.one("tensor.extract", [order, number], i32)], INDEX)
        at = {**known, **dict(_unravelled(inside, box, boxes))}
        return inside.one("tensor.extract", [by.src, *(at[axis] for axis in sorted(at))], element)

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        place = _ravelled(inside, [(inside.loop(axis), by.sizes[axis]) for axis in boxes.own])
        zero, one = inside.index(0), inside.index(1)
        known = {at: inside.loop(axis) for at, axis in kept.items()}
        behind = inside.compare(SGT, place, zero)  # the first place has none before it
        before = inside.same("arith.subi", place, inside.select(behind, one, zero))
        start, end = (_end(inside, ends, at) for at in (before, place))
        start = inside.select(behind, start, zero)
        if combine is None:
            last = inside.same("arith.subi", end, one)
            some = inside.compare(SLT, start, end)
            return inside.select(some, value(inside, inside.select(some, last, zero), known), args[0])
        block = Block(arg_types=[INDEX, args[0].type])
        loop = LinalgWriter(block)
        number, found = block.args
        loop.op("scf.yield", [combine(loop, by.element, [found, value(loop, number, known)])], ())
        return inside.op("scf.for", [start, end, one, args[0]], [args[0].type], regions=[Region(block)])[0]

    empty = w.empty(tensor_of(element, by.sizes))
    return w.generic_of([part], [dims(rank)], [empty], rank, body)[0]


def _keys(w: LinalgWriter, boxes: _Boxes) -> SSAValue:
    """The place of each box as a number, row by row along the axes that tell places apart."""
    by, shape = boxes.by, shape_of(boxes.by.src)

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        at: list[int | SSAValue] = [0] * len(shape)
        for axis, place in _unravelled(inside, inside.loop(0), boxes):
            at[axis] = place
        index, digits = iter(by.index), list[tuple[SSAValue, int]]()
        for axis in boxes.own:
            place = by.axes[axis]
            size = shape_of(by.x)[axis]
            known = _extracted(inside, next(index), at, size, negative=by.negative) if place == INDEXED else at[place]
            assert isinstance(known, SSAValue)
            digits.append((known, by.sizes[axis]))
        return inside.one("arith.index_cast", [_ravelled(inside, digits)], i32)

    return w.generic_of([], [], [w.empty(tensor_of(i32, [boxes.count]))], 1, body)[0]


def _ends(w: LinalgWriter, keys: SSAValue, places: int) -> SSAValue:
    """How many boxes are at each place or one before it."""

    def body(inside: LinalgWriter, args: Sequence[SSAValue]) -> SSAValue:
        key, before = args
        here = inside.one("arith.index_cast", [inside.loop(0)], i32)
        counts = inside.one("arith.extui", [inside.compare(SLE, key, here)], i32)
        return inside.same("arith.addi", before, counts)

    place, box = dims(2)
    return w.generic([(keys, [box])], [(w.filled(tensor_of(i32, [places]), 0), [place])], 2, body)[0]


def _end(w: LinalgWriter, ends: SSAValue, place: SSAValue) -> SSAValue:
    return w.one("arith.index_cast", [w.one("tensor.extract", [ends, place], i32)], INDEX)


def _ravelled(w: LinalgWriter, digits: Sequence[tuple[SSAValue, int]]) -> SSAValue:
    """Positions along axes of given sizes as one number."""
    number = w.index(0)
    for digit, size in digits:
        number = w.same("arith.addi", w.same("arith.muli", number, w.index(size)), digit)
    return number


def _unravelled(w: LinalgWriter, number: SSAValue, boxes: _Boxes) -> list[tuple[int, SSAValue]]:
    """The axes of src along which boxes differ, and the position of a box by its number along each."""
    shape, found = shape_of(boxes.by.src), list[tuple[int, SSAValue]]()
    for axis in reversed(boxes.looped):
        found.append((axis, w.same("arith.remui", number, w.index(shape[axis]))))
        number = w.same("arith.divui", number, w.index(shape[axis]))
    return found


def part_of(w: LinalgWriter, by: Placing) -> SSAValue:
    """The part of x that may be written."""
    if by.sizes == shape_of(by.x):
        return by.x
    return w.box(by.x, [0] * len(by.sizes), by.sizes, tensor_of(tensor_type(by.x).element_type, by.sizes))


def back(w: LinalgWriter, by: Placing, part: SSAValue) -> SSAValue:
    """x with its part that may be written."""
    return part if by.sizes == shape_of(by.x) else w.put(part, by.x, [0] * len(by.sizes), by.sizes)


def from_start(w: LinalgWriter, index: SSAValue, size: int, *, negative: bool) -> SSAValue:
    """An integer as an index, one below 0 counted from the end if it may be."""
    if negative:
        below = w.compare(SLT, index, w.number(0, index.type))
        index = w.select(below, w.same("arith.addi", index, w.number(size, index.type)), index)
    return w.one("arith.index_cast", [index], INDEX)


def _written_in_order(w: LinalgWriter, by: Placing, combine: Scalar | None) -> SSAValue:
    """
    A loop over the axes of src that indices depend on, or no axis of x goes along: each iteration combines one box of
    src with one of x, or puts it there.
    """
    shape, element = shape_of(by.src), tensor_type(by.src).element_type
    boxes = _Boxes(by)
    looped = boxes.looped
    # the box of an iteration has the axes that x and src both go along, in the order of x
    kept = [place for place in by.axes if place != INDEXED and place not in looped]
    in_src = sorted(kept)
    block = Block(arg_types=[INDEX, by.x.type])
    inside, (number, whole) = LinalgWriter(block), block.args
    at: list[int | SSAValue] = [0] * len(shape)
    for axis, place in _unravelled(inside, number, boxes):
        at[axis] = place
    sizes = [1 if axis in looped else size for axis, size in enumerate(shape)]
    box = inside.box(by.src, at, sizes, tensor_of(element, [shape[one] for one in in_src]))
    value = transposed(inside, box, [in_src.index(one) for one in kept])
    index = iter(by.index)
    starts = [
        _extracted(inside, next(index), at, size, negative=by.negative) if place == INDEXED else at[place]
        for place, size in zip(by.axes, shape_of(by.x), strict=True)
    ]
    sizes = [1 if place == INDEXED or place in looped else shape[place] for place in by.axes]
    if combine is not None:
        type = tensor_of(element, [shape[one] for one in kept])
        before = inside.box(whole, starts, sizes, type)
        value = inside.elementwise(type, [before, value], lambda i, args: combine(i, by.element, args[:2]))
    inside.op("scf.yield", [inside.put(value, whole, starts, sizes)], ())
    steps = [w.index(0), w.index(boxes.count), w.index(1)]
    return w.op("scf.for", [*steps, by.x], [by.x.type], regions=[Region(block)])[0]


def _extracted(
    w: LinalgWriter, index: SSAValue, at: Sequence[int | SSAValue], size: int, *, negative: bool
) -> SSAValue:
    """The index of the iteration that is at these places of src."""
    # an index is the same along the axes where it has size 1
    pairs = zip(at, shape_of(index), strict=True)
    places = [one if isinstance(one, SSAValue) and own > 1 else w.index(0) for one, own in pairs]
    found = w.one("tensor.extract", [index, *places], tensor_type(index).element_type)
    return from_start(w, found, size, negative=negative)
