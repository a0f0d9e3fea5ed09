"""
In which ways each task of a program can be shared, by what they mean for the network.

    way      a layer with weights                              any other task
    I        the batch is cut                                  the batch is cut
    II       the input's channels, and the weights             (with the layer before it)
    III      the output's channels, and the weights            the channels are cut
    whole                                                      every device does all of it

Two kinds of other tasks have way II: a sum of values of which each device takes addends, and a value for several
readers (a hub) that is whole, and whose gradient is kept as addends until all readers' are added. A hub of weights has
no batch; its way III cuts the first axis along which a reader cuts them.

Which axis of a value counts the batch and which the channels is followed through the program: the batch from the first
axis of the first input, and of others the first one as long, the channels from the output of each layer with weights.
What is computed without data, of constants such as initial states, has the axis along which the batch reads it.
Behind a layer in way II every device has the whole output, unless the layer makes each channel of its own (depthwise),
or is a table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from npuc.compiler.analysis.sharding.graph.tasks import Source, Task, TaskGraph
from npuc.compiler.layers.base import Cut
from npuc.dialects.train.signature import ArgumentKind

PartitionType = Literal["I", "II", "III", "whole"]
PARTITION_TYPES: tuple[PartitionType, ...] = ("I", "II", "III", "whole")
Axes = Mapping[int, int]
"""The axis of each value that has such an axis."""


@dataclass(frozen=True)
class TaskCuts:
    """
    For each way the number of the cut with which each task is done; None: as a whole.

    `batch` and `channels` are the axes of values that count them.
    """

    cut_of: Mapping[PartitionType, tuple[int | None, ...]]
    batch: Axes
    channels: Axes


def task_cuts(program: TaskGraph, takers: Collection[int] = ()) -> TaskCuts:
    """The cuts of all tasks; `takers` are those, by number, that take addends in way II."""
    batch = _batch_axes(program)
    batch |= _constant_axes(program, batch)
    channels: dict[int, int] = {}
    behind: dict[int, int] = {}
    found: dict[PartitionType, list[int | None]] = {type: [] for type in PARTITION_TYPES}
    read_by = _hub_channels(program)
    for number, task in enumerate(program.tasks):
        by_batch = _follow(task, batch)
        found["I"].append(by_batch)
        found["whole"].append(None)
        if task.weight is None:
            if task.hub and task.axes:
                channels[task.operands[0]] = task.axes[0]
            elif task.hub and task.results[0] in read_by:
                channels[task.operands[0]] = read_by[task.results[0]]
            found["II"].append(_addends_cut(task) if number in takers else None if task.hub else _follow(task, behind))
            found["III"].append(_follow(task, channels))
        else:
            found["II"].append(_input_cut(task))
            found["III"].append(_output_cut(task))
            _mark(task, found["II"][-1], behind)
            _mark(task, found["III"][-1], channels)
    return TaskCuts({type: tuple(numbers) for type, numbers in found.items()}, batch, channels)


def _hub_channels(program: TaskGraph) -> dict[int, int]:
    """For a hub's result the axis along which the first layer with weights that reads it cuts its input."""
    found: dict[int, int] = {}
    for task in program.tasks:
        if task.weight is None or (number := _input_cut(task)) is None:
            continue
        for place, (operand, axis) in enumerate(zip(task.operands, task.cuts[number].operands, strict=True)):
            if place != task.weight and axis is not None:
                found.setdefault(operand, axis)
    return found


def _batch_axes(program: TaskGraph) -> dict[int, int]:
    """The axes of the inputs that are as long as the first of the first input, of each the first such axis."""
    inputs = {n: v.shape for n, v in enumerate(program.values) if v.argument is ArgumentKind.INPUT and v.shape}
    if not inputs:
        return {}
    length = next(iter(inputs.values()))[0]
    return {number: shape.index(length) for number, shape in inputs.items() if length in shape}


def _constant_axes(program: TaskGraph, batch: Axes) -> dict[int, int]:
    """
    The axes of the batch of constants: those along which the batch cuts what is computed of them and no data, where
    that needs no part of a parameter.
    """
    axes, wanted = dict(batch), dict[int, int]()
    chosen = [_follow(task, axes) for task in program.tasks]
    for task, number in zip(reversed(program.tasks), reversed(chosen), strict=True):
        cut = task.cuts[number] if number is not None else _cut_to(program, task, wanted)
        for operand, axis in zip(task.operands, cut.operands if cut is not None else (), strict=cut is not None):
            if axis is not None and program.values[operand].source is not Source.DATA:
                wanted.setdefault(operand, axis)
    return {number: axis for number, axis in wanted.items() if program.values[number].source is Source.CONSTANT}


def _cut_to(program: TaskGraph, task: Task, wanted: Axes) -> Cut | None:
    """The first cut of a task that makes a result as it is wanted, of no part of a parameter."""
    for place, result in enumerate(task.results):
        for cut in task.cuts if result in wanted else ():
            sources = (
                program.values[n].source
                for n, axis in zip(task.operands, cut.operands, strict=True)
                if axis is not None
            )
            if cut.results[place] == wanted[result] and all(source is Source.CONSTANT for source in sources):
                return cut
    return None


def _follow(task: Task, axes: dict[int, int]) -> int | None:
    """
    The cut along an axis that operands have; its results' axes are added to `axes`.

    An operand without the axis is read whole, or if it cannot be, cut as it has to be.
    """
    wanted = [axes.get(operand) for operand in task.operands]
    if all(axis is None for axis in wanted):
        return None
    best: tuple[int, int] | None = None
    for number, cut in enumerate(task.cuts):
        if all(axis is None or axis == own for axis, own in zip(wanted, cut.operands, strict=True)):
            extra = sum(own is not None and axis is None for axis, own in zip(wanted, cut.operands, strict=True))
            best = min(best, (extra, number)) if best is not None else (extra, number)
    if best is None:
        return None
    _mark(task, best[1], axes)
    return best[1]


def _mark(task: Task, number: int | None, axes: dict[int, int]) -> None:
    """Add the axes that the results of a cut have."""
    if number is None:
        return
    for result, axis in zip(task.results, task.cuts[number].results, strict=True):
        if isinstance(axis, int):
            axes[result] = axis


def _addends_cut(task: Task) -> int:
    """The cut of a sum into sums of addends."""
    return next(number for number, cut in enumerate(task.cuts) if cut.addends)


def _input_cut(task: Task) -> int | None:
    """The cut of a layer along what its products are summed over; where none is (a table), along its output."""
    found = _weights_cut(task, with_data=True)
    return _weights_cut(task, with_data=False) if found is None else found


def _output_cut(task: Task) -> int | None:
    """The cut of a layer along its output; where each channel is by itself, along input and output."""
    found = _weights_cut(task, with_data=False)
    return _weights_cut(task, with_data=True) if found is None else found


def _weights_cut(task: Task, *, with_data: bool) -> int | None:
    """The first cut of the weights in which the other operand is cut, too, or is not."""
    assert task.weight is not None
    for number, cut in enumerate(task.cuts):
        others = [axis for place, axis in enumerate(cut.operands) if place != task.weight]
        if cut.operands[task.weight] is not None and any(axis is not None for axis in others) == with_data:
            return number
    return None
