"""
What a chunk of a collective does at each level of a network.

Levels are numbered as the groups of a collective are, 0 the innermost. Among p devices a device that has d bytes sends
d (p - 1) / p in a reduce-scatter and keeps d / p; in an all-gather it sends d (p - 1) and has d p then. An all-reduce
is a reduce-scatter over all levels in one order and an all-gather over all of them in another. Whatever the orders,
the bytes that a device sends over all levels together are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from npuc.compiler.analysis.interconnect.algorithm import algorithm_of
from npuc.compiler.analysis.interconnect.collectives import Collective
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup

Order = tuple[int, ...]
"""Levels by number, the first one first."""


@dataclass(frozen=True)
class LinkLevel:
    """
    A level as chunks see it: its devices, the seconds that a byte takes a device, and the latency of a whole stage.

    `exchange_s` and `exchange_delay_s` are the same for an all-to-all. Levels with the same `link` share their links,
    and work one at a time; None: no other does.
    """

    size: int
    byte_s: Fraction
    delay_s: Fraction = Fraction(0)
    exchange_s: Fraction | None = None
    exchange_delay_s: Fraction | None = None
    link: int | None = None


def link_level(group: CommunicationGroup) -> LinkLevel:
    """The level along which a group communicates, by the closed forms of its algorithm."""
    algorithm, level = algorithm_of(group), group.level
    (scatter, exchange) = (algorithm.scatter(group), algorithm.exchange(group))
    return LinkLevel(
        group.size,
        scatter.crowding / level.bytes_per_s,
        scatter.waits * level.latency_s,
        exchange.crowding / level.bytes_per_s,
        exchange.waits * level.latency_s,
        group.number,
    )


def servers_of(levels: Sequence[LinkLevel]) -> tuple[int, ...]:
    """For each level the number of what works on one of its stages at a time: levels that share links have one."""
    known: dict[tuple[str, int], int] = {}
    keys = [("own", n) if level.link is None else ("link", level.link) for n, level in enumerate(levels)]
    return tuple(known.setdefault(key, len(known)) for key in keys)


@dataclass(frozen=True)
class ChunkStage:
    """
    A stage of a chunk: the level, the bytes that a device sends, the seconds for which it occupies the level, those
    after which its result is there, and the bytes of the data, before a reduce-scatter and after an all-gather.
    """

    level: int
    sent: Fraction
    busy_s: Fraction
    delay_s: Fraction
    held: Fraction


@dataclass(frozen=True)
class ChunkOrder:
    """The order in which a chunk is reduced over the levels, and that in which it is gathered; empty for none."""

    scatter: Order = ()
    gather: Order = ()


def baseline_order(kind: Collective, levels: int) -> ChunkOrder:
    """From the innermost level outwards, and back inwards."""
    out, back = tuple(range(levels)), tuple(reversed(range(levels)))
    match kind:
        case "reduce_scatter" | "all_to_all":
            return ChunkOrder(scatter=out)
        case "all_gather":
            return ChunkOrder(gather=back)
        case "all_reduce":
            return ChunkOrder(out, back)


def stages_of(
    kind: Collective, size: Fraction, levels: Sequence[LinkLevel], order: ChunkOrder
) -> tuple[ChunkStage, ...]:
    """The stages of a chunk of so many bytes on each device, in an order."""
    found: list[ChunkStage] = []
    data = size
    for number in order.scatter:
        level = levels[number]
        sent = data * (level.size - 1) / level.size
        if kind == "all_to_all":
            byte_s = level.byte_s if level.exchange_s is None else level.exchange_s
            delay = level.delay_s if level.exchange_delay_s is None else level.exchange_delay_s
            found.append(ChunkStage(number, sent, sent * byte_s, delay, data))
            continue
        found.append(ChunkStage(number, sent, sent * level.byte_s, level.delay_s, data))
        data /= level.size
    for number in order.gather:
        level = levels[number]
        sent, data = data * (level.size - 1), data * level.size
        found.append(ChunkStage(number, sent, sent * level.byte_s, level.delay_s, data))
    return tuple(found)


def sent_bytes(kind: Collective, size: Fraction, levels: Sequence[LinkLevel]) -> Fraction:
    """The bytes that a device sends over all levels, in any order."""
    devices = prod(level.size for level in levels)
    match kind:
        case "reduce_scatter":
            return size * (devices - 1) / devices
        case "all_gather":
            return size * (devices - 1)
        case "all_reduce":
            return 2 * size * (devices - 1) / devices
        case "all_to_all":
            return sum((size * (level.size - 1) / level.size for level in levels), Fraction(0))
