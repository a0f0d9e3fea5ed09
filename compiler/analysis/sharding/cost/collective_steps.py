"""
The collectives by which devices move the data of a plan's cost terms: the operations of the lowered program.

    edge        the steps of its reshard, each along one level; where the value has a gradient, their transposes on the
                way back, and an all-reduce of the partial sums of the gradient
    reduction   an all-reduce over the levels with partial sums, and one over those whose mean is taken; none where the
                reduction is deferred to the consumer; reduce-scatters where devices get parts of the sum, and
                all-gathers of its gradient

`reshard_amounts` and `reduce_amounts` have the elements that they move; their time depends on the network
(`step_time`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

from npuc.compiler.analysis.interconnect.collectives import Collective
from npuc.compiler.analysis.sharding.cost.cost_terms import (
    EdgeRate,
    ReductionRate,
    Sizes,
    TypeSequence,
    layout_of,
    levels_where,
)
from npuc.compiler.analysis.sharding.cost.resharding import Reshard, part_count, reshard_steps
from npuc.compiler.analysis.sharding.graph.edges import TYPE_NUMBER


@dataclass(frozen=True)
class CollectiveStep:
    """
    A collective over levels of the mesh; the operand of each device is one of `cut` parts of the tensor, or of its
    gradient with `back`.
    """

    kind: Collective
    levels: tuple[int, ...]
    cut: int
    back: bool = False


@lru_cache(maxsize=1 << 18)
def steps_of(
    rate: EdgeRate | ReductionRate, sequences: tuple[TypeSequence, ...], sizes: Sizes
) -> tuple[CollectiveStep, ...]:
    """The collectives of a cost term whose layer groups have these type sequences."""
    if isinstance(rate, ReductionRate):
        cut = part_count(layout_of(rate.produced, sequences[0]), sizes)
        found = [CollectiveStep("all_reduce", levels, cut) for levels in rate.levels(sequences)]
        for level in sorted(rate.scattered(sequences[0]), reverse=True):
            found.append(CollectiveStep("reduce_scatter", (level,), cut))
            cut *= sizes[level]
            found += [CollectiveStep("all_gather", (level,), cut, back=True)] if rate.active else []
        return tuple(found)
    return _steps(rate.reshard(*rate.sides(sequences, sizes)), sizes, back=rate.active)


def side_of(rate: EdgeRate | ReductionRate, sequence: TypeSequence, number: int, count: int) -> Hashable:
    """
    What a cost term's steps know of the type sequence of one of its `count` layer groups: with sequences of equal
    sides they are the same.
    """
    if isinstance(rate, ReductionRate):
        if number:
            return levels_where(rate.deferred, sequence)
        adds = tuple(rate.adds[TYPE_NUMBER[type]] for type in sequence)
        return layout_of(rate.produced, sequence), adds, rate.scattered(sequence)
    there = back = None
    if rate.has_maker and number == 0:
        there = layout_of(rate.produced, sequence), levels_where(rate.deferred_gradient, sequence)
    if rate.has_reader and number == count - 1:
        sums = levels_where(rate.partial_gradient, sequence), levels_where(rate.partial_value, sequence)
        back = layout_of(rate.required, sequence), sums
    return there, back


@lru_cache(maxsize=1 << 16)
def _steps(reshard: Reshard, sizes: Sizes, *, back: bool) -> tuple[CollectiveStep, ...]:
    """The collectives of a reshard, and those of the gradient on the way back if it has one."""
    found: list[CollectiveStep] = []
    cut = part_count(reshard.source, sizes)
    for step in reshard_steps(reshard):
        own = step.levels
        match step.kind:
            case "slice":
                cut *= sizes[step.level]
                found += [CollectiveStep("all_gather", own, cut, back=True)] if back and not step.addends else []
            case "all_to_all":
                found.append(CollectiveStep("all_to_all", own, cut))
                found += [CollectiveStep("all_to_all", own, cut, back=True)] if back else []
            case "all_gather":
                found.append(CollectiveStep("all_gather", own, cut))
                cut //= sizes[step.level]
                found += [CollectiveStep("reduce_scatter", own, cut, back=True)] if back and step.addends else []
            case "copy":
                found += [CollectiveStep("all_reduce", own, cut, back=True)] if back else []
            case "place":
                cut //= sizes[step.level]
            case "once" | "addend":
                pass
    return tuple(found)
