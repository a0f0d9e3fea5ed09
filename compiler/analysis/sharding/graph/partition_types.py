"""
The partition types, and how each task of a program is sharded under each of them.

    type      a layer with weights                             any other task
    I         the batch is split                               the batch is split
    II        input channels and weights are split             (as the layer before it)
    III       output channels and weights are split            the channels are split
    whole     replicated: every device does all of it          replicated

Two other kinds of tasks have type II: a sum that takes partial sums, and a reshard point at which the value is whole
and its gradient stays partial sums until those of all consumers are added. A reshard point of weights has no batch; its
type III splits the first axis that a consumer splits.

The axes of values that count the batch and the channels are propagated through the program: the batch from the first
axis of the first input, and from the first axis as long of every other input; the channels from the output of each
layer with weights. Values that are computed without data, from constants such as initial states, have the axis along
which a task with a batch reads them. Behind a layer of type II every device has the whole output, unless the layer is
depthwise or an embedding table.

A table whose rows are its input channels (`Task.placed`) is looked up for the whole batch by every device, in its part
of the rows. These partial sums are scattered where they are reduced: behind the table type II splits the batch.
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
    The number of the cut by which each task is split under each partition type; None: not split.

    `batch` and `channels` have the axis of each value that counts the batch and the channels. `scattered` has the axis
    along which partial sums of a value are scattered, where they are.
    """

    cut_of: Mapping[PartitionType, tuple[int | None, ...]]
    batch: Axes
    channels: Axes
    scattered: Axes


def task_cuts(program: TaskGraph, deferred_reductions: Collection[int] = ()) -> TaskCuts:
    """The cuts of all tasks; those numbered in `deferred_reductions` take partial sums under type II."""
    batch = _batch_axes(program)
    batch |= _constant_axes(program, batch)
    channels: dict[int, int] = {}
    behind: dict[int, int] = {}
    scattered: dict[int, int] = {}
    found: dict[PartitionType, list[int | None]] = {type: [] for type in PARTITION_TYPES}
    read_by = _reshard_channels(program)
    for number, task in enumerate(program.tasks):
        by_batch = _follow(task, batch)
        found["I"].append(by_batch)
        found["whole"].append(None)
        if task.weight is None:
            if task.reshard_point and task.axes:
                channels[task.operands[0]] = task.axes[0]
            elif task.reshard_point and task.results[0] in read_by:
                channels[task.operands[0]] = read_by[task.results[0]]
            found["II"].append(
                _partial_sums_cut(task)
                if number in deferred_reductions
                else None
                if task.reshard_point
                else _follow(task, behind)
            )
            found["III"].append(_follow(task, channels))
        else:
            found["II"].append(_input_cut(task))
            found["III"].append(_output_cut(task))
            if task.placed and task.results[0] in batch:
                scattered[task.results[0]] = behind[task.results[0]] = batch[task.results[0]]
            else:
                _mark(task, found["II"][-1], behind)
            _mark(task, found["III"][-1], channels)
    return TaskCuts({type: tuple(numbers) for type, numbers in found.items()}, batch, channels, scattered)


def _reshard_channels(program: TaskGraph) -> dict[int, int]:
    """For each value that a weighted layer reads, the axis along which the first such layer splits its input."""
    found: dict[int, int] = {}
    for task in program.tasks:
        if task.weight is None or (number := _input_cut(task)) is None:
            continue
        for place, (operand, axis) in enumerate(zip(task.operands, task.cuts[number].operands, strict=True)):
            if place != task.weight and axis is not None:
                found.setdefault(operand, axis)
    return found


def _batch_axes(program: TaskGraph) -> dict[int, int]:
    """Of each input the first axis that is as long as the first axis of the first input."""
    inputs = {n: v.shape for n, v in enumerate(program.values) if v.argument is ArgumentKind.INPUT and v.shape}
    if not inputs:
        return {}
    length = next(iter(inputs.values()))[0]
    return {number: shape.index(length) for number, shape in inputs.items() if length in shape}


def _constant_axes(program: TaskGraph, batch: Axes) -> dict[int, int]:
    """
    The batch axes of constants: those along which tasks with a batch read what is computed from them without data,
    where no parameter has to be split for it.
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
    """The first cut of a task that splits a result along the wanted axis and splits constants alone."""
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
    The cut along the axis that operands have in `axes`, to which the axes of the results are added.

    An operand without such an axis is read whole, or where no cut does that, split as the cut requires.
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
    """Add the axes along which a cut splits the results."""
    if number is None:
        return
    for result, axis in zip(task.results, task.cuts[number].results, strict=True):
        if isinstance(axis, int):
            axes[result] = axis


def _partial_sums_cut(task: Task) -> int:
    """The cut by which a sum adds partial sums."""
    return next(number for number, cut in enumerate(task.cuts) if cut.addends)


def _input_cut(task: Task) -> int | None:
    """The cut of a layer along its contracted channels; without any (an embedding table), along its output."""
    found = _weights_cut(task, with_data=True)
    return _weights_cut(task, with_data=False) if found is None else found


def _output_cut(task: Task) -> int | None:
    """The cut of a layer along its output channels; where channels are independent, along input and output."""
    found = _weights_cut(task, with_data=False)
    return _weights_cut(task, with_data=True) if found is None else found


def _weights_cut(task: Task, *, with_data: bool) -> int | None:
    """The first cut that splits the weights, and the other operand if `with_data`, else not."""
    assert task.weight is not None
    for number, cut in enumerate(task.cuts):
        others = [axis for place, axis in enumerate(cut.operands) if place != task.weight]
        if cut.operands[task.weight] is not None and any(axis is not None for axis in others) == with_data:
            return number
    return None
