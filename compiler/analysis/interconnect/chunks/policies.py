"""
The orders in which chunks cross the levels of a network.

`baseline` has one for all chunks, from the innermost level outwards and back. Themis (Rashidi, Won, Srinivasan,
Sridharan, Krishna, ISCA 2022) keeps the load of each level in seconds, and sends each chunk first where there is least:
what comes first has most data. While loads differ by less than a sixteenth of a chunk takes on the least loaded level,
a chunk takes the baseline's order. The all-gather of an all-reduce goes back the way that its reduce-scatter came; of
its two halves one is counted as load.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Literal, get_args

from npuc.compiler.analysis.interconnect.chunks.events import Queue
from npuc.compiler.analysis.interconnect.chunks.stages import ChunkOrder, LinkLevel, baseline_order, stages_of
from npuc.compiler.analysis.interconnect.collectives import Collective

Policy = Literal["baseline", "themis-fifo", "themis-scf"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
SMALL = 16
"""Loads that differ by less than this part of a chunk are alike."""


def queue_of(policy: Policy) -> Queue:
    """Which of the stages that wait at a level begins."""
    return "scf" if policy == "themis-scf" else "fifo"


def orders_of(
    policy: Policy, kind: Collective, size: Fraction, chunks: int, levels: Sequence[LinkLevel]
) -> tuple[ChunkOrder, ...]:
    """The order of each chunk of a collective of `size` bytes on each device."""
    base = baseline_order(kind, len(levels))
    if policy == "baseline" or kind == "all_to_all" or len(levels) < 2:
        return (base,) * chunks
    return _themis(kind, size / chunks, chunks, levels, base)


def _themis(
    kind: Collective, size: Fraction, chunks: int, levels: Sequence[LinkLevel], base: ChunkOrder
) -> tuple[ChunkOrder, ...]:
    loads = [(2 if kind == "all_reduce" else 1) * level.delay_s for level in levels]
    found: list[ChunkOrder] = []
    added: dict[ChunkOrder, list[tuple[int, Fraction]]] = {}
    # what a chunk is before a reduce-scatter; an all-gather ends with as many times its size
    most = size * prod(level.size for level in levels) if kind == "all_gather" else size
    for _ in range(chunks):
        least = min(range(len(levels)), key=loads.__getitem__)
        low = levels[least]
        if max(loads) - loads[least] < most / SMALL * (low.size - 1) / low.size * low.byte_s:
            order = base
        else:
            rising = tuple(sorted(range(len(levels)), key=loads.__getitem__))
            order = _order(kind, rising)
        if order not in added:
            half: Collective = "all_gather" if kind == "all_gather" else "reduce_scatter"
            own = ChunkOrder(gather=order.gather) if half == "all_gather" else ChunkOrder(scatter=order.scatter)
            added[order] = [(stage.level, stage.busy_s) for stage in stages_of(half, size, levels, own)]
        for number, seconds in added[order]:
            loads[number] += seconds
        found.append(order)
    return tuple(found)


def _order(kind: Collective, rising: tuple[int, ...]) -> ChunkOrder:
    """The order for levels by rising load."""
    match kind:
        case "all_reduce":
            return ChunkOrder(rising, rising[::-1])
        case "all_gather":
            return ChunkOrder(gather=rising[::-1])
        case _:
            return ChunkOrder(scatter=rising)
