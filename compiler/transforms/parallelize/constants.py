"""
Constants of a partitioned program, computed in parts: masks, tables of positions, initial states.

A value that depends on no argument is computed in the layout in which it is read, by its own operation on parts as far
as that can be split. A slice of a vector of positions tells a device which part it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Operation, SSAValue

from npuc.compiler.analysis.sharding.cost.resharding import Layout
from npuc.compiler.analysis.sharding.graph.tasks import Task
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Combine, Cut, rebuilt
from npuc.compiler.transforms.parallelize.sharded_values import Segments, sharding_of
from npuc.dialects.distributed.mesh import Mesh
from npuc.dialects.tensors import shape_of, tensor_of, tensor_type
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.compare import LessEqualOp
from npuc.dialects.train.constant import ArangeOp, CausalMaskOp
from npuc.dialects.train.shape import ReshapeOp

OpT = TypeVar("OpT", bound=TrainOp)


class Constants:
    """
    The values that depend on no argument, by number.

    `emit(source, op)` appends an operation in place of `source`, `sliced(value, form, segments, source)` the slices of
    a value that every device has whole; `segments` are those of the axes of a value, by number.
    """

    def __init__(
        self,
        mesh: Mesh,
        emit: Callable[[Operation, TrainOp], TrainOp],
        sliced: Callable[[SSAValue, Layout, Segments, Operation], SSAValue],
        segments: Callable[[int], Segments],
    ):
        self.mesh = mesh
        self.emit = emit
        self.sliced = sliced
        self.segments = segments
        self.producers: dict[int, tuple[Task, TrainOp]] = {}
        self.parts: dict[tuple[int, Layout], SSAValue] = {}

    def __contains__(self, value: int) -> bool:
        return value in self.producers

    def add(self, task: Task, op: TrainOp) -> None:
        """Take note of an operation, which is done when its results are read."""
        self.producers.update((value, (task, op)) for value in task.results)

    def part(self, value: int, layout: Layout) -> SSAValue:
        """A value in some form; all who read it in this form share it."""
        if (value, layout) not in self.parts:
            self._make(value, layout)
        return self.parts[value, layout]

    def _make(self, value: int, layout: Layout) -> None:
        """Make a value by its operation on parts where that can be shared so, else as a slice of the whole."""
        task, op = self.producers[value]
        cuts = self._cuts_to(task, op, value, layout)
        if cuts is not None:
            operands = [
                self.part(operand, tuple(None if cut is None else cut.operands[place] for cut in cuts))
                for place, operand in enumerate(task.operands)
            ]
            layouts = [layout_of_result(cuts, place) for place in range(len(op.results))]
            new = self.emit(op, part_of(op, operands, layouts, cuts, self.mesh))
            for result, old, own, made in zip(new.results, op.results, task.results, layouts, strict=True):
                result.name_hint = old.name_hint
                self.parts[own, made] = result
        elif isinstance(op, CausalMaskOp):
            self.parts[value, layout] = self._mask(op, layout, self.segments(value))
        else:
            whole = self.part(value, (None,) * len(layout))
            self.parts[value, layout] = self.sliced(whole, layout, self.segments(value), op)

    def _cuts_to(self, task: Task, op: TrainOp, value: int, layout: Layout) -> list[Cut | None] | None:
        """For each level a cut of an operation that makes a value in some form; None where there is none."""
        place = task.results.index(value)
        found: list[Cut | None] = []
        for axis in layout:
            cut = next((cut for cut in get_layer(op).cuts(op) if axis is not None and cut.results[place] == axis), None)
            if axis is not None and (
                cut is None or cut.common(op) % self.mesh.devices or any(isinstance(a, Combine) for a in cut.results)
            ):
                return None
            found.append(cut)
        return found

    def _mask(self, op: CausalMaskOp, layout: Layout, segments: Segments) -> SSAValue:
        """A part of a causal mask: the columns that are no more than the row and the offset."""
        offset, shape = op.offset.value.data, shape_of(op.out)

        def positions(axis: int, start: int) -> SSAValue:
            whole = self._new(op, ArangeOp(results=[tensor_of(i32, [shape[axis]])], start=float(start)))
            along: Segments = (segments[axis],) if segments else ()
            own = self.sliced(whole, tuple(0 if cut == axis else None for cut in layout), along, op)
            (size,) = shape_of(own)
            return self._new(op, ReshapeOp(own, results=[tensor_of(i32, [1, size] if axis else [size, 1])]))

        return self._new(op, LessEqualOp(positions(1, 0), positions(0, offset)))

    def _new(self, source: TrainOp, op: TrainOp) -> SSAValue:
        return self.emit(source, op).results[0]


def layout_of_result(cuts: Sequence[Cut | None], place: int) -> Layout:
    """The form in which an operation makes a result by a cut for each level."""
    axes = [None if cut is None else cut.results[place] for cut in cuts]
    return tuple(axis if isinstance(axis, int) else None for axis in axes)


def part_of(
    op: OpT, operands: Sequence[SSAValue], layouts: Sequence[Layout], cuts: Sequence[Cut | None], mesh: Mesh
) -> OpT:
    """An operation on parts by a cut for each level, with results in these forms."""
    types: list[Attribute] = []
    for result, layout in zip(op.results, layouts, strict=True):
        type = tensor_type(result)
        made = sharding_of(layout, len(type.get_shape()))
        types.append(tensor_of(type.element_type, made.local_shape(mesh, type.get_shape())))
    shares = [(cut, size) for cut, size in zip(cuts, mesh.sizes, strict=True) if cut is not None]
    return rebuilt(op, operands, types, shares)
