"""
The boxes of a nest that a mapping computes one by one: the index ranges of each processing element in each step.

Where there are very many, adjacent boxes are merged: the points are the same, in fewer pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TypeAlias

from npuc.compiler.analysis.mapping.coverage import coverage, enough
from npuc.compiler.analysis.mapping.groups import TileGroup, groups, tied
from npuc.compiler.analysis.mapping.walk import LevelPlan, Ranges, plan_of, plan_of_clusters
from npuc.dialects.mapping import Clusters, Mapping, Problem
from npuc.dialects.npu.mapped import layout_of
from npuc.dialects.npu.nest import Nest

MOST = 512
"""Boxes from which on neighbours are taken together."""

Box: TypeAlias = tuple[tuple[str, tuple[int, int]], ...]


@lru_cache(maxsize=256)
def boxes(nest: Nest, mapping: Mapping | Clusters) -> tuple[Ranges, ...] | str:
    """
    The boxes of a nest that its mapping computes; a sentence if they are not each point of the nest once.

    A mapping by directives is on as many processing elements as its top level can use.
    """
    if isinstance(mapping, Clusters):
        wrong = next(mapping.problems(nest.sizes), None)
        if wrong is not None:
            return wrong
        sets = _sets(plan_of_clusters(mapping, nest.sizes), None)
        return _joined(sets, {dim: (dim,) for dim in nest.sizes}, nest)
    layout = layout_of(nest, mapping.problem)
    if isinstance(layout, str):
        return layout
    found = coverage(mapping, enough(mapping))
    if found:
        return found[0]
    return _joined(_sets(plan_of(mapping, enough(mapping)), mapping.problem), dict(layout.dims), nest)


def _sets(plan: LevelPlan, problem: Problem | None) -> list[list[Box]]:
    """For each set of dimensions that depend on each other its boxes; so few that not too many come together."""
    sets = [_together(mine) for mine in tied(groups(plan, problem))]
    for number in sorted(range(len(sets)), key=lambda n: -len(sets[n])):
        if prod(map(len, sets)) > MOST:
            sets[number] = _merged(sets[number])
    return sets


def _together(mine: Sequence[TileGroup]) -> list[Box]:
    """The boxes of tied groups: those of the same sub-clusters."""
    found: list[tuple[dict[int, int], Box]] = [({}, ())]
    for group in mine:
        rows = [
            (
                dict(zip(group.levels, map(int, keys), strict=True)),
                tuple((dim, (int(a), int(b))) for dim, a, b in zip(group.dims, low, high, strict=True)),
            )
            for keys, low, high in zip(group.keys, group.low, group.high, strict=True)
        ]
        found = [
            (known | keys, (*box, *own))
            for known, box in found
            for keys, own in rows
            if all(known.get(level, key) == key for level, key in keys.items())
        ]
    return list(dict.fromkeys(box for _, box in found))


def _merged(found: list[Box]) -> list[Box]:
    """The same points in fewer boxes: neighbours along each dimension in turn."""
    for place in range(len(found[0])):
        rows: dict[Box, list[tuple[int, int]]] = {}
        for box in found:
            rows.setdefault((*box[:place], *box[place + 1 :]), []).append(box[place][1])
        dim = found[0][place][0]
        found = [
            (*other[:place], (dim, span), *other[place:])
            for other, spans in rows.items()
            for span in _side_by_side(spans)
        ]
    return found


def _side_by_side(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges with those that follow one another in one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and found[-1][1] == low:
            found[-1] = found[-1][0], high
        else:
            found.append((low, high))
    return found


def _joined(sets: Sequence[Sequence[Box]], stands: dict[str, tuple[str, ...]], nest: Nest) -> tuple[Ranges, ...]:
    """All combinations of boxes, on the dimensions of the nest that those of the layer stand for."""
    inside = [[part for box in mine for part in _of_nest(box, stands, nest)] for mine in sets]
    whole = {dim: (0, size) for dim, size in nest.dims}
    return tuple(whole | {dim: span for part in parts for dim, span in part.items()} for parts in product(*inside))


def _of_nest(box: Box, stands: dict[str, tuple[str, ...]], nest: Nest) -> list[Ranges]:
    """A box of the layer as boxes of the nest."""
    choices = [
        [
            dict(zip(stands[dim], spans, strict=True))
            for spans in _unflattened(span, [nest.sizes[d] for d in stands[dim]])
        ]
        for dim, span in box
        if dim in stands
    ]
    return [{dim: span for part in parts for dim, span in part.items()} for parts in product(*choices)]


def _unflattened(span: tuple[int, int], sizes: Sequence[int]) -> list[list[tuple[int, int]]]:
    """A range of the flattened index of several dimensions, the last innermost, as boxes."""
    if len(sizes) <= 1:
        return [[span][: len(sizes)]]
    low, high = span
    inner = prod(sizes[1:])
    first, last = -(-low // inner), high // inner
    if first > last:
        return [
            [(last, last + 1), *rest] for rest in _unflattened((low - last * inner, high - last * inner), sizes[1:])
        ]
    found: list[list[tuple[int, int]]] = []
    if low < first * inner:
        rests = _unflattened((low - (first - 1) * inner, inner), sizes[1:])
        found += [[(first - 1, first), *rest] for rest in rests]
    if first < last:
        found.append([(first, last), *((0, size) for size in sizes[1:])])
    if last * inner < high:
        found += [[(last, last + 1), *rest] for rest in _unflattened((0, high - last * inner), sizes[1:])]
    return found
