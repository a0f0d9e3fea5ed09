"""
The cost of a collective in chunks on a mesh, and its chunks by a policy.

    chunks = chunks_by("themis-scf", "all_reduce", 64 * 10**6, placement, over=[0, 1], count=64, latency="overlap")
    chunked_cost("all_reduce", 64 * 10**6, placement, over=[0, 1], chunks=chunks, latency="overlap").seconds

Chunks name levels of the mesh (`npuc.dialects.distributed.chunks`); those that are parts of one level of the network
are crossed together, and levels of the mesh on the same level of the network one at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from npuc.compiler.analysis.interconnect.algorithm import algorithm_of
from npuc.compiler.analysis.interconnect.chunks.events import (
    ChunkChain,
    ChunkTimeline,
    Latency,
    least_seconds,
    replay,
    simulate,
)
from npuc.compiler.analysis.interconnect.chunks.exact import exact_schedule
from npuc.compiler.analysis.interconnect.chunks.policies import orders_of, queue_of
from npuc.compiler.analysis.interconnect.chunks.schedule import ChunkedCollective
from npuc.compiler.analysis.interconnect.chunks.stages import (
    ChunkOrder,
    ChunkStage,
    link_level,
    servers_of,
    stages_of,
)
from npuc.compiler.analysis.interconnect.collectives import Collective, Cost, Stage
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup, MeshPlacement
from npuc.compiler.core.options import ChunkPolicy
from npuc.dialects.distributed.chunks import Chunks, Route

MOST_EXACT = 8
"""The most chunks of which the best schedule is searched."""
EXACT_NODES = 20_000
"""The nodes that are looked at for one collective of a program."""
Run = tuple[int, ...]
"""Levels of the mesh that form one group, the innermost first."""


@dataclass(frozen=True)
class LevelUse:
    """A time in which a level of the network is occupied without a gap: from `begin_s` to `end_s`, in seconds."""

    level: int
    begin_s: Fraction
    end_s: Fraction


@dataclass(frozen=True)
class ChunkedCost(Cost):
    """
    The cost of a collective in chunks: `stages` sum up each level of the network, `elapsed_s` is the time of all.

    `spans` are the times in which levels of the network work, by time: level, begin and end, in units of `unit_s`. No
    schedule of as many chunks takes less than `bound_s`; where some chunk crosses parts of a level of the network one
    by one, which policies cross together, none of chunks with these orders does.
    """

    elapsed_s: Fraction = Fraction(0)
    bound_s: Fraction = Fraction(0)
    spans: tuple[tuple[int, int, int], ...] = ()
    unit_s: Fraction = Fraction(1)
    chunks: int = 1

    @property
    def uses(self) -> tuple[LevelUse, ...]:
        """The times in which levels of the network work, by time."""
        return tuple(LevelUse(level, begin * self.unit_s, end * self.unit_s) for level, begin, end in self.spans)

    def in_seconds(self, units: int) -> float:
        """A time of so many units."""
        return units * self.unit_s.numerator / self.unit_s.denominator

    @property
    def seconds(self) -> Fraction:
        """The time of the whole collective."""
        return self.elapsed_s


@dataclass(frozen=True)
class ChunkEvents:
    """The groups that chunks of a collective cross, the order of each chunk in these, its stages, and their events."""

    groups: tuple[CommunicationGroup, ...]
    orders: tuple[ChunkOrder, ...]
    chains: Mapping[ChunkOrder, ChunkChain]
    timeline: ChunkTimeline


@dataclass(frozen=True)
class ChosenChunks:
    """Chunks by a policy; `proved`: no schedule is better, of the policy `exact` alone (else None)."""

    chunks: Chunks
    proved: bool | None = None


@lru_cache(maxsize=4096)
def _collective(
    kind: Collective, size: Fraction, placement: MeshPlacement, over: tuple[int, ...], count: int, latency: Latency
) -> ChunkedCollective:
    """A collective over levels of a mesh, as policies see it."""
    return ChunkedCollective(kind, size, count, tuple(map(link_level, placement.along(over))), latency)


@lru_cache(maxsize=4096)
def chunked_cost(
    kind: Collective,
    size: Fraction | int,
    placement: MeshPlacement,
    over: tuple[int, ...],
    chunks: Chunks,
    latency: Latency,
) -> ChunkedCost:
    """The cost of a collective in chunks over levels of a mesh; `size` is the bytes of the operand on each device."""
    events = chunk_events(kind, size, placement, chunks, latency)
    groups, orders, timeline = events.groups, events.orders, events.timeline
    known, counts = events.chains, Counter(orders)
    if set(groups) == set(placement.along(over)):
        bound = _collective(kind, Fraction(size), placement, over, len(orders), latency).bound_s
    else:
        bound = least_seconds([known[order] for order in orders], servers_of(tuple(map(link_level, groups))), latency)
    return ChunkedCost(
        tuple(_stages(kind, groups, [(known[order], count) for order, count in counts.items()])),
        timeline.seconds,
        bound,
        _spans(timeline, groups),
        timeline.unit_s,
        len(orders),
    )


def chunk_events(
    kind: Collective, size: Fraction | int, placement: MeshPlacement, chunks: Chunks, latency: Latency
) -> ChunkEvents:
    """What happens to the chunks of a collective, and when; the arguments are those of `chunked_cost`."""
    groups, orders, known = chunk_stages(kind, size, placement, chunks)
    levels = tuple(map(link_level, groups))
    chains = [known[order] for order in orders]
    if chunks.queue == "listed":
        timeline = replay(chains, servers_of(levels), chunks.sequence, latency)
    else:
        timeline = simulate(chains, servers_of(levels), chunks.queue, latency)
    return ChunkEvents(groups, orders, known, timeline)


def chunk_stages(
    kind: Collective, size: Fraction | int, placement: MeshPlacement, chunks: Chunks
) -> tuple[tuple[CommunicationGroup, ...], tuple[ChunkOrder, ...], Mapping[ChunkOrder, ChunkChain]]:
    """The groups that chunks cross, the order of each in these, and the stages of each order."""
    numbers: dict[Run, int] = {}
    orders = tuple(_order(kind, placement, route, numbers) for route in chunks.routes)
    groups = tuple(placement.group_of(run) for run in numbers)
    levels = tuple(map(link_level, groups))
    part = Fraction(size) / len(orders)
    known = {order: stages_of(kind, part, levels, order) for order in dict.fromkeys(orders)}
    return groups, orders, known


def _order(kind: Collective, placement: MeshPlacement, route: Route, numbers: dict[Run, int]) -> ChunkOrder:
    """A route as an order of groups, which get numbers as they come."""

    def numbered(runs: Iterable[Run]) -> tuple[int, ...]:
        return tuple(numbers.setdefault(run, len(numbers)) for run in runs)

    there = placement.runs(route.there)
    if kind == "all_gather":
        return ChunkOrder(gather=numbered(reversed(placement.runs(reversed(route.there)))))
    if kind != "all_reduce":
        return ChunkOrder(scatter=numbered(there))
    return ChunkOrder(numbered(there), numbered(reversed(placement.runs(reversed(route.back)))))


def _stages(
    kind: Collective, groups: Sequence[CommunicationGroup], chains: Sequence[tuple[ChunkChain, int]]
) -> list[Stage]:
    """What chunks, so many of each kind, do at each level of the network, the outermost first."""
    found: dict[int, list[tuple[ChunkStage, int]]] = {}
    for chain, count in chains:
        for stage in chain:
            found.setdefault(groups[stage.level].number, []).append((stage, count))
    return [_sum(kind, number, groups, found[number]) for number in sorted(found)]


def _sum(
    kind: Collective, number: int, groups: Sequence[CommunicationGroup], stages: Sequence[tuple[ChunkStage, int]]
) -> Stage:
    """Stages of a level of the network, with the number of chunks of each, as one; its seconds are those of sending."""
    sent = carried = busy = Fraction(0)
    energy = groups[stages[0][0].level].level.pj_per_byte
    for stage, count in stages:
        group = groups[stage.level]
        algorithm = algorithm_of(group)
        transfer = algorithm.exchange(group) if kind == "all_to_all" else algorithm.scatter(group)
        sent += count * stage.sent
        carried += count * stage.sent * transfer.hops
        busy += count * stage.busy_s
    return Stage(number, sent, carried, busy, None if energy is None else carried * energy)


def _spans(timeline: ChunkTimeline, groups: Sequence[CommunicationGroup]) -> tuple[tuple[int, int, int], ...]:
    """The times in which levels of the network are occupied, in units, those without a gap between them as one."""
    ends: dict[int, list[list[int]]] = {}
    for span in timeline.spans:
        own = ends.setdefault(groups[span.level].number, [])
        if own and own[-1][1] == span.begin:
            own[-1][1] = span.free
        else:
            own.append([span.begin, span.free])
    found = [(begin, level, end) for level, own in ends.items() for begin, end in own]
    return tuple((level, begin, end) for begin, level, end in sorted(found))


@lru_cache(maxsize=4096)
def chunks_by(
    policy: ChunkPolicy,
    kind: Collective,
    size: Fraction | int,
    placement: MeshPlacement,
    over: tuple[int, ...],
    count: int,
    latency: Latency,
) -> ChosenChunks:
    """So many chunks of a collective by a policy; the arguments are those of `chunked_cost`."""
    one = _collective(kind, Fraction(size), placement, over, count, latency)
    runs = placement.runs(sorted(set(over), reverse=True))
    if policy != "exact":
        orders = orders_of(policy, kind, one.size, count, one.levels)
        return ChosenChunks(Chunks(queue_of(policy), tuple(_route(kind, order, runs) for order in orders)))
    best = exact_schedule(one, EXACT_NODES)
    routes = tuple(_route(kind, order, runs) for order in best.schedule.orders)
    sequence = tuple(span.chunk for span in best.schedule.timeline.spans)
    return ChosenChunks(Chunks("listed", routes, sequence), best.proved)


def baseline_chunks(kind: Collective, over: Sequence[int], count: int) -> Chunks:
    """So many chunks from the innermost level of the mesh outwards, and back; of an all-gather inwards."""
    return Chunks("fifo", (Route.and_back(tuple(sorted(over, reverse=kind != "all_gather"))),) * count)


def _route(kind: Collective, order: ChunkOrder, runs: Sequence[Run]) -> Route:
    """An order of groups as one of levels of the mesh."""
    there = tuple(level for number in order.scatter for level in runs[number])
    back = tuple(level for number in order.gather for level in reversed(runs[number]))
    if kind == "all_reduce":
        return Route(there, back)
    return Route.and_back(back if kind == "all_gather" else there)
