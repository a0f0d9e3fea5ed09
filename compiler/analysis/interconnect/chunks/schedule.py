"""A collective in chunks by a policy: its time, how much of the network it uses, and what no schedule is below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations

from npuc.compiler.analysis.interconnect.chunks.events import (
    ChunkChain,
    ChunkTimeline,
    Latency,
    occupied,
    simulate,
)
from npuc.compiler.analysis.interconnect.chunks.policies import Policy, orders_of, queue_of
from npuc.compiler.analysis.interconnect.chunks.stages import (
    ChunkOrder,
    ChunkStage,
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
        chains = [stages_of(self.kind, self.size / self.chunks, self.levels, order) for order in self._some_orders()]
        delays = [stage.delay_s for stage in chains[0]]
        all_at_once = (self.sent / self.bytes_per_s if self.sent else 0) + min(delays)
        alone = min(sum((stage.busy_s + stage.delay_s for stage in chain), Fraction(0)) for chain in chains)
        level = max(self._least(chains, server) for server in set(self.servers))
        return max(all_at_once, alone, level)

    def _least(self, chains: Sequence[tuple[ChunkStage, ...]], server: int) -> Fraction:
        each = (
            sum(
                (occupied(stage, self.latency)[0] for stage in chain if self.servers[stage.level] == server),
                Fraction(0),
            )
            for chain in chains
        )
        return self.chunks * min(each)

    def _some_orders(self) -> tuple[ChunkOrder, ...]:
        """Of an all-reduce, orders whose way back is that there: the bytes of each half are free of the other."""
        base = baseline_order(self.kind, len(self.levels))
        if not base.gather or not base.scatter:
            return self.all_orders()
        return tuple(ChunkOrder(one, one[::-1]) for one in permutations(base.scatter))


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
