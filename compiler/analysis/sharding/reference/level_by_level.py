"""
The published search: level by level from the top, each solved exactly for one pair of groups.

Song et al., "HyPar" (HPCA 2019), algorithm of section 4; with three types that of "AccPar" (HPCA 2020) with equal
parts. Each level is a shortest path through the chain; ties go to the first type. What is best for each level need not
be for all of them together: see `joint`.
"""

from __future__ import annotations

from collections.abc import Sequence

from npuc.compiler.analysis.sharding.graph.chain import Amount, BasicType, Layer, LayerSizes, between
from npuc.compiler.core.options import Convention

Choices = tuple[tuple[BasicType, ...], ...]
"""A type for each layer, level by level from the top."""


def greedy(layers: Sequence[Layer], levels: int, types: Sequence[BasicType], convention: Convention) -> Choices:
    """The types that the search chooses, level by level."""
    sizes = [LayerSizes.of(layer) for layer in layers]
    found: list[tuple[BasicType, ...]] = []
    for _ in range(levels):
        chosen = best_level(sizes, types, convention)
        found.append(chosen)
        sizes = [s.split(kind) for s, kind in zip(sizes, chosen, strict=True)]
    return tuple(found)


def best_level(
    sizes: Sequence[LayerSizes], types: Sequence[BasicType], convention: Convention
) -> tuple[BasicType, ...]:
    """The types with which one pair of groups moves least; of equally good ones the first of `types`."""
    cost = {kind: sizes[0].within(kind) for kind in types}
    back: list[dict[BasicType, BasicType]] = []
    for own in sizes[1:]:
        step: dict[BasicType, BasicType] = {}
        new: dict[BasicType, Amount] = {}
        for kind in types:
            paths = [(cost[p] + between(p, kind, own.input, convention), n) for n, p in enumerate(types)]
            least, number = min(paths)
            step[kind], new[kind] = types[number], least + own.within(kind)
        back.append(step)
        cost = new
    chosen: list[BasicType] = [min(types, key=lambda kind: (cost[kind], types.index(kind)))]
    for step in reversed(back):
        chosen.append(step[chosen[-1]])
    return tuple(reversed(chosen))
