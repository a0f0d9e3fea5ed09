"""A collective in chunks by a policy: its time, how much of the network it uses, and what no schedule is below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import permutations

from npuc.compiler.analysis.interconnect.chunks.events import (
    ChunkChain,
    ChunkTimeline,
    Latency,
    simulate,
)
from npuc.compiler.analysis.interconnect.chunks.policies import Policy, orders_of, queue_of
from npuc.compiler.analysis.interconnect.chunks.stages import (
    ChunkOrder,
    LinkLevel,
    baseline_order,
    sent_bytes,
    servers_of,
    stages_of,
)
from npuc.compiler.analysis.interconnect.collectives import Collective


@dataclass(frozen=True)
class ChunkedCollective:
    """A collective of `size` bytes on each device, in equal chunks, over levels, the innermost first."""

    kind: Collective
    size: Fraction
    chunks: int
    levels: tuple[LinkLevel, ...]
    latency: Latency = "overlap"

    def chains(self, orders: Sequence[ChunkOrder]) -> tuple[ChunkChain, ...]:
        """The stages of each chunk in its order."""
        known: dict[ChunkOrder, ChunkChain] = {}
        for order in set(orders):
            known[order] = stages_of(self.kind, self.size / self.chunks, self.levels, order)
        return tuple(known[order] for order in orders)

    @property
    def sent(self) -> Fraction:
        """The bytes that a device sends."""
        return sent_bytes(self.kind, self.size, self.levels)

    @property
    def bytes_per_s(self) -> Fraction:
        """
        The rate at which a device sends over all levels at once, as far as these have other devices; of levels that
        share links the fastest counts.
        """
        return sum(self.rates, Fraction(0))

    @cached_property
    def servers(self) -> tuple[int, ...]:
        """For each level the number of what works on one of its stages at a time."""
        return servers_of(self.levels)

    @property
    def rates(self) -> tuple[Fraction, ...]:
        """For each server the rate at which a device sends along the fastest of its levels; 0 without other devices."""
        found: dict[int, Fraction] = {}
        for server, level in zip(self.servers, self.levels, strict=True):
            rate = 1 / self.byte_s(level) if level.size > 1 else Fraction(0)
            found[server] = max(found.get(server, Fraction(0)), rate)
        return tuple(found[server] for server in sorted(found))

    def byte_s(self, level: LinkLevel) -> Fraction:
        """The seconds that a byte takes a device at a level."""
        exchange = level.exchange_s if self.kind == "all_to_all" else None
        return level.byte_s if exchange is None else exchange

    def all_orders(self) -> tuple[ChunkOrder, ...]:
        """All orders that a chunk may take."""
        base = baseline_order(self.kind, len(self.levels))
        return tuple(
            ChunkOrder(scatter, gather)
            for scatter in permutations(base.scatter)
            for gather in permutations(base.gather)
        )

    @property
    def bound_s(self) -> Fraction:
        """
        The seconds that no schedule is below: all bytes over all levels at once, and then the messages of a last stage;
        or a chunk that waits for nothing, in its best order; or the least that a level has to do for all chunks.
        """
        if not self.levels:
            return Fraction(0)
        part = self.size / self.chunks
        stages = stages_of(self.kind, part, self.levels, self.some_orders()[0])
        sending, by_server = _least_work(self.kind, self.levels)
        all_at_once = (self.sent / self.bytes_per_s if self.sent else 0) + min(stage.delay_s for stage in stages)
        alone = part * sending + sum((stage.delay_s for stage in stages), Fraction(0))
        held = [Fraction(0) for _ in by_server]
        for stage in stages if self.latency == "serial" else ():
            held[self.servers[stage.level]] += stage.delay_s
        level = self.chunks * max(part * work + delays for work, delays in zip(by_server, held, strict=True))
        return max(all_at_once, alone, level)

    def some_orders(self) -> tuple[ChunkOrder, ...]:
        """Of an all-reduce, orders whose way back is that there: the bytes of each half are free of the other."""
        base = baseline_order(self.kind, len(self.levels))
        if not base.gather or not base.scatter:
            return self.all_orders()
        return tuple(ChunkOrder(one, one[::-1]) for one in permutations(base.scatter))


@lru_cache(maxsize=256)
def _least_work(kind: Collective, levels: tuple[LinkLevel, ...]) -> tuple[Fraction, tuple[Fraction, ...]]:
    """
    For a byte of a chunk: the least seconds for which levels send in any order, and for which each server does.

    Each of them is reached in some order; what stages take beside latencies is linear in the bytes of a chunk.
    """
    one = ChunkedCollective(kind, Fraction(1), 1, levels)
    least: Fraction | None = None
    by_server: list[Fraction | None] = [None] * len(set(one.servers))
    for order in one.some_orders():
        work = [Fraction(0) for _ in by_server]
        for stage in stages_of(kind, Fraction(1), levels, order):
            work[one.servers[stage.level]] += stage.busy_s
        whole = sum(work, Fraction(0))
        least = whole if least is None else min(least, whole)
        by_server = [own if known is None else min(known, own) for known, own in zip(by_server, work, strict=True)]
    return least or Fraction(0), tuple(own or Fraction(0) for own in by_server)


@dataclass(frozen=True)
class ChunkSchedule:
    """A collective with the order of each chunk, and when its stages happen."""

    collective: ChunkedCollective
    orders: tuple[ChunkOrder, ...]
    timeline: ChunkTimeline

    @property
    def seconds(self) -> Fraction:
        """The time of the collective."""
        return self.timeline.seconds

    @property
    def utilisation(self) -> Fraction:
        """The bytes that a device sends over those that it could send over all levels in that time; 0 without any."""
        if not self.collective.sent:
            return Fraction(0)
        return self.collective.sent / (self.seconds * self.collective.bytes_per_s)

    @property
    def gap(self) -> Fraction:
        """How far above the lower bound the time is, as a part of it; 0 where nothing takes any time."""
        bound = self.collective.bound_s
        return self.seconds / bound - 1 if bound else Fraction(0)


def scheduled(collective: ChunkedCollective, policy: Policy) -> ChunkSchedule:
    """A collective by a policy."""
    orders = orders_of(policy, collective.kind, collective.size, collective.chunks, collective.levels)
    timeline = simulate(collective.chains(orders), collective.servers, queue_of(policy), collective.latency)
    return ChunkSchedule(collective, orders, timeline)
