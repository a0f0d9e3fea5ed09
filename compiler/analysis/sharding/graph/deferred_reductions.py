"""
Deferred reductions: partial sums that are added to another value before anybody needs them reduced.

    a, b    partial sums (mp)              a + b is computed on partial sums, and it alone is reduced
    a + x   x replicated                   one device adds x, the others 0

The operations between a layer and the sum may be linear in the value: a bias (added by one device), a scale, a dropout,
a reshape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuc.compiler.analysis.sharding.graph.tasks import TaskGraph


@dataclass(frozen=True)
class DeferredReduction:
    """The sum that takes partial sums of a value: its task, the operand index, and the linear tasks `between`."""

    task: int
    place: int
    between: tuple[int, ...] = ()


def find_deferred_reductions(
    program: TaskGraph, group_of: Sequence[int | None], tasks: Sequence[Sequence[int]], producer: Sequence[int | None]
) -> Mapping[int, DeferredReduction]:
    """
    For each result of a product or a sum, the sum of another layer group that is its only consumer, if there is one.
    """
    consumers: dict[int, list[tuple[int, int]]] = {}
    for number, task in enumerate(program.tasks):
        for place, operand in enumerate(task.operands):
            consumers.setdefault(operand, []).append((number, place))
    first = {own[0] for own in tasks}

    def is_sum(number: int) -> bool:
        return number in first and any(cut.addends for cut in program.tasks[number].cuts)

    def deferral(number: int, value: int) -> DeferredReduction | None:
        between: list[int] = []
        while value not in program.returned and len(consumers.get(value, ())) == 1:
            ((consumer, place),) = consumers[value]
            task = program.tasks[consumer]
            if group_of[consumer] != group_of[number]:
                return DeferredReduction(consumer, place, tuple(between)) if is_sum(consumer) else None
            others = [own for n, own in enumerate(task.operands) if n != place]
            known = all(producer[own] is None or group_of[producer[own] or 0] is None for own in others)
            if place not in task.linear or not known:
                return None
            between.append(consumer)
            (value,) = task.results
        return None

    found: dict[int, DeferredReduction] = {}
    for number, task in enumerate(program.tasks):
        if group_of[number] is not None and (task.weight is not None or is_sum(number)) and len(task.results) == 1:
            own = deferral(number, task.results[0])
            if own is not None:
                found[task.results[0]] = own
    return found
