"""
Segmented axes: values concatenated along an axis that are split apart later, so that each segment is sharded by itself.

    qkv = x W          W [width, 3 x heads x size]      the columns of queries, keys and values
    q, k, v = split    [batch, length, heads x size]    each sharded by heads, as qkv is within each segment
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from npuc.compiler.analysis.sharding.graph.tasks import SIZES, Task, TaskGraph
from npuc.compiler.layers.base import Cut
from npuc.dialects.train.signature import ArgumentKind


def with_segments(program: TaskGraph) -> TaskGraph:
    """
    The program with segments on each axis that is split apart, and on all axes that are sharded together with it.

    A fused projection is sharded by heads within queries, keys and values, and so are the columns of its weights. An
    axis has no segments where anything else depends on its positions: another split, another size, an input.
    """
    touching: dict[int, list[int]] = {}
    for number, task in enumerate(program.tasks):
        for value in dict.fromkeys((*task.operands, *task.results)):
            touching.setdefault(value, []).append(number)
    found: dict[tuple[int, int], tuple[int, ...]] = {}
    tasks = list(program.tasks)
    for number, task in enumerate(program.tasks):
        cut = next((cut for cut in task.cuts if cut.divided == SIZES), None)
        if cut is None:
            continue
        (axis,) = cut.operands
        assert axis is not None
        start = task.operands[0], axis
        sizes = tuple(program.values[result].shape[axis] for result in task.results)
        along = _along(program, touching, start, sizes)
        if along is not None and all(found.get(place, sizes) == sizes for place in along):
            found.update(dict.fromkeys(along, sizes))
        else:
            tasks[number] = replace(task, cuts=tuple(own for own in task.cuts if own is not cut))
    return replace(program, tasks=tuple(tasks), segments=found)


def segments_cut(program: TaskGraph, task: Task, cut: Cut) -> tuple[int, ...]:
    """The sizes of all segments of the axes that a cut splits: the number of devices must divide each of them."""
    pairs = zip((*task.operands, *task.results), (*cut.operands, *cut.results), strict=True)
    found = [program.segments.get((value, axis), ()) for value, axis in pairs if isinstance(axis, int)]
    return tuple(size for own in dict.fromkeys(found) for size in own)


def _along(
    program: TaskGraph, touching: Mapping[int, list[int]], start: tuple[int, int], sizes: tuple[int, ...]
) -> set[tuple[int, int]] | None:
    """The (value, axis) pairs that are sharded wherever one is; None where they cannot have segments."""
    found, waiting = {start}, [start]
    while waiting:
        value, axis = waiting.pop()
        own = program.values[value]
        if own.argument is ArgumentKind.INPUT or own.shape[axis] != sum(sizes):
            return None
        for number in touching[value]:
            task = program.tasks[number]
            for cut in task.cuts:
                pairs = zip((*task.operands, *task.results), (*cut.operands, *cut.results), strict=True)
                places = [(one, at) for one, at in pairs if isinstance(at, int)]
                if (value, axis) not in places:
                    continue
                if cut.divided == SIZES:
                    if sizes != tuple(program.values[result].shape[axis] for result in task.results):
                        return None
                    continue
                if cut.divided:
                    return None
                new = [place for place in places if place not in found]
                found.update(new)
                waiting += new
    return found
