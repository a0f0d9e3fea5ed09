"""
Sums that take addends: where what a node makes addends of is added to something before anybody needs it whole.

    a, b    made of addends (mp)           a + b is of addends; it is reduced, neither a nor b
    a + x   x whole on all devices         one of them adds x, the others 0

Between the layer and the sum may stand work that is linear in the value: its bias (an addend of one device), a scale,
a dropout, a reshape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.analysis.sharding.graph.tasks import TaskGraph


@dataclass(frozen=True)
class Taker:
    """The task that takes addends of a value, its operand, and the linear tasks on the way there."""

    task: int
    place: int
    between: tuple[int, ...] = ()


def takers_of(
    program: TaskGraph, group_of: Sequence[int | None], tasks: Sequence[Sequence[int]], maker: Sequence[int | None]
) -> Mapping[int, Taker]:
    """For each value that a product makes, or a sum of two, the sum of two nodes that alone reads it, if one does."""
    readers: dict[int, list[tuple[int, int]]] = {}
    for number, task in enumerate(program.tasks):
        for place, operand in enumerate(task.operands):
            readers.setdefault(operand, []).append((number, place))
    first = {own[0] for own in tasks}

    def is_sum(number: int) -> bool:
        return number in first and any(cut.addends for cut in program.tasks[number].cuts)

    def taker(number: int, value: int) -> Taker | None:
        between: list[int] = []
        while value not in program.returned and len(readers.get(value, ())) == 1:
            ((reader, place),) = readers[value]
            task = program.tasks[reader]
            if group_of[reader] != group_of[number]:
                return Taker(reader, place, tuple(between)) if is_sum(reader) else None
            others = [own for n, own in enumerate(task.operands) if n != place]
            known = all(maker[own] is None or group_of[maker[own] or 0] is None for own in others)
            if place not in task.linear or not known:
                return None
            between.append(reader)
            (value,) = task.results
        return None

    found: dict[int, Taker] = {}
    for number, task in enumerate(program.tasks):
        if group_of[number] is not None and (task.weight is not None or is_sum(number)) and len(task.results) == 1:
            own = taker(number, task.results[0])
            if own is not None:
                found[task.results[0]] = own
    return found
