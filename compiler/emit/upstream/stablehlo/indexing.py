"""
Elements at indices: one gather or scatter, whose slices are the axes that no index depends on.

A scatter may take its elements in any order. So where the last of several is to stay, the number of the last one is
found for each place, as the largest, and that element is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import BoolAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from npuc.compiler.core.frozen import frozen
from npuc.compiler.emit.upstream.placing import Placing, placing_of
from npuc.compiler.emit.upstream.stablehlo.reductions import named
from npuc.compiler.emit.upstream.stablehlo.writer import Combine, StablehloWriter, axes_attr
from npuc.dialects.stablehlo.numbering import GatherNumbers, GatherNumbersAttr, ScatterNumbers, ScatterNumbersAttr
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import ints
from npuc.dialects.train.indexing import INDEXED, IndexOp
from npuc.dialects.train.scatter import IndexPutOp, IndexReduceOp

_COMBINE = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}


@frozen
class _Picking:
    """
    How picked elements are walked: `window` are their axes that a slice goes along, in the order of the axes of x, and
    `named` the axes of x that have an index each, in the vectors `starts`.
    """

    starts: SSAValue
    window: tuple[int, ...]
    named: tuple[int, ...]

    @property
    def places(self) -> tuple[int, ...]:
        """The axes of the picked elements that are of slices, in ascending order."""
        return tuple(sorted(self.window))

    def moved(self, rank: int) -> list[int]:
        """
        The axis of picked elements that each one of what an operation takes or gives is: of its slices the axes come in
        the order of x.
        """
        order = list(range(rank))
        for place, axis in zip(self.places, self.window, strict=True):
            order[place] = axis
        return order


def _picking(
    w: StablehloWriter,
    whole: Sequence[int],
    index: Sequence[SSAValue],
    axes: Sequence[int],
    picked: Sequence[int],
    negative: bool,
) -> _Picking:
    """The vectors of indices into a tensor of the shape `whole`."""
    depends = [any(shape_of(one)[axis] > 1 for one in index) for axis in range(len(picked))]
    window = tuple(place for place in axes if place != INDEXED and not depends[place])
    batch = [axis for axis in range(len(picked)) if axis not in window]
    shape = [picked[axis] for axis in batch]
    columns: list[SSAValue] = []
    left = iter(index)
    named_axes = tuple(axis for axis, place in enumerate(axes) if place not in window)
    for axis, place in enumerate(axes):
        if place in window:
            continue
        if place == INDEXED:
            one = _from_start(w, w.convert(next(left), i64), whole[axis], negative=negative)
            one = w.reshape(one, [shape_of(one)[at] for at in batch])
            columns.append(w.along(one, shape, range(len(shape))))
        else:
            columns.append(w.iota(tensor_of(i64, shape), batch.index(place)))
    wide = [w.reshape(column, [*shape, 1]) for column in columns]
    return _Picking(w.concat(wide, len(shape)), window, named_axes)


def _from_start(w: StablehloWriter, index: SSAValue, size: int, *, negative: bool) -> SSAValue:
    """Indices of which those below 0 count from the end, if there may be such."""
    if not negative:
        return index
    return w.select(w.compare("LT", index, w.number(0, index)), w.same("add", index, w.number(size, index)), index)


def gather(
    w: StablehloWriter,
    x: SSAValue,
    index: Sequence[SSAValue],
    axes: Sequence[int],
    picked: Sequence[int],
    *,
    negative: bool = False,
) -> SSAValue:
    """The elements of x at indices, in the shape `picked`; `axes` is as in `train.index`."""
    by = _picking(w, shape_of(x), index, axes, picked, negative)
    sizes = [1 if axis in by.named else picked[place] for axis, place in enumerate(axes)]
    numbers = GatherNumbers(
        offset_dims=by.places,
        collapsed_slice_dims=by.named,
        start_index_map=by.named,
        index_vector_dim=len(shape_of(by.starts)) - 1,
    )
    order = by.moved(len(picked))
    found = w.one(
        "gather",
        [x, by.starts],
        tensor_of(tensor_type(x).element_type, [picked[axis] for axis in order]),
        dimension_numbers=GatherNumbersAttr(numbers),
        slice_sizes=axes_attr(sizes),
        indices_are_sorted=BoolAttr.from_bool(False),
    )
    return w.transpose(found, [order.index(axis) for axis in range(len(picked))])


def scatter(w: StablehloWriter, x: SSAValue, src: SSAValue, by: Placing, combine: Combine) -> SSAValue:
    """x with each element of src combined at its place; both may be others than those of the placing, of its shapes."""
    picked = shape_of(src)
    at = _picking(w, shape_of(x), by.index, by.axes, picked, by.negative)
    numbers = ScatterNumbers(
        update_window_dims=at.places,
        inserted_window_dims=at.named,
        scatter_dims_to_operand_dims=at.named,
        index_vector_dim=len(shape_of(at.starts)) - 1,
    )
    element = tensor_type(x).element_type
    region = w.region([element, element], lambda inside, args: [combine(inside, args[0], args[1])])
    properties = {
        "scatter_dimension_numbers": ScatterNumbersAttr(numbers),
        "indices_are_sorted": BoolAttr.from_bool(False),
        "unique_indices": BoolAttr.from_bool(False),
    }
    moved = w.transpose(src, at.moved(len(picked)))
    return w.op("scatter", [x, at.starts, moved], [x.type], properties, [region])[0]


def _index(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, IndexOp)
    x, *index = operands
    return [gather(w, x, index, ints(op.axes), shape_of(op.out), negative=op.negative is not None)]


def _index_reduce(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    assert isinstance(op, IndexReduceOp)
    by = placing_of(op, operands)
    return [scatter(w, by.x, by.src, by, named(_COMBINE[op.reduce.data]))]


def _index_put(w: StablehloWriter, op: Operation, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """The number of the last element that is put at each place, then that element."""
    assert isinstance(op, IndexPutOp)
    by = placing_of(op, operands)
    shape, sizes = shape_of(by.src), by.sizes
    numbers = w.listed(tensor_of(i32, shape), [0])
    for number, axis in enumerate(by.free):
        along = w.iota(tensor_of(i32, shape), axis)
        step = prod(shape[other] for other in by.free[number + 1 :])
        numbers = w.same("add", numbers, w.same("multiply", along, w.number(step, along)))
    none = w.listed(tensor_of(i32, sizes), [-1])
    last = scatter(w, none, numbers, by, named("maximum"))
    there = w.compare("GE", last, w.number(0, last))
    rest, index = w.select(there, last, w.number(0, last)), list[SSAValue]()
    for axis in reversed(by.free):
        index.insert(0, w.same("remainder", rest, w.number(shape[axis], rest)))
        rest = w.same("divide", rest, w.number(shape[axis], rest))
    axes = [INDEXED if axis in by.free else by.axes.index(axis) for axis in range(len(shape))]
    zeros = [0] * len(sizes)
    part = w.slice(by.x, zeros, sizes)
    value = gather(w, by.src, index, axes, sizes) if index else w.transpose(by.src, list(by.axes))
    put = w.select(there, value, part)
    return [put if sizes == shape_of(by.x) else w.put(put, by.x, zeros)]


LOWERINGS = {"train.index": _index, "train.index_reduce": _index_reduce, "train.index_put": _index_put}
