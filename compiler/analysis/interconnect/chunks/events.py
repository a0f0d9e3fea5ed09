"""
When the stages of chunks happen: a level works on one stage at a time, and chunks wait for it.

A stage of which the level sends for t seconds, and whose messages take a seconds on their way, occupies it for

    overlap    t, and its result is there a later: while one stage waits for its messages, the level sends for another
    serial     t + a

Of the stages that wait at a level when it is free, the one that came first begins (`fifo`), or the one with the least
data (`scf`, smallest chunk first); among equals the one that came first, then the first chunk. Times are exact: they
are integers of a unit that divides them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from math import lcm
from typing import Literal, get_args

from npuc.compiler.analysis.interconnect.chunks.stages import ChunkStage

Latency = Literal["overlap", "serial"]
"""What the latency of a stage holds up: nothing but its own chunk, or the level."""
LATENCIES: tuple[Latency, ...] = get_args(Latency)
Queue = Literal["fifo", "scf"]
"""Which of the stages that wait at a level begins."""
ChunkChain = tuple[ChunkStage, ...]
"""The stages of a chunk, one after the other."""


@dataclass(frozen=True)
class StageSpan:
    """A stage of a chunk as it happens, in units: it begins, leaves the level free, and its result is there."""

    chunk: int
    number: int
    level: int
    begin: int
    free: int
    done: int


@dataclass(frozen=True)
class ChunkTimeline:
    """The stages of chunks in the order in which they begin; `unit_s` are the seconds of a unit."""

    spans: tuple[StageSpan, ...]
    unit_s: Fraction

    @property
    def seconds(self) -> Fraction:
        """When the last result is there."""
        return max((span.done for span in self.spans), default=0) * self.unit_s


def occupied(stage: ChunkStage, latency: Latency) -> tuple[Fraction, Fraction]:
    """The seconds for which a stage occupies its level, and those after which its result is there."""
    whole = stage.busy_s + stage.delay_s
    return (whole if latency == "serial" else stage.busy_s), whole


def simulate(chains: Sequence[ChunkChain], servers: Sequence[int], queue: Queue, latency: Latency) -> ChunkTimeline:
    """
    The chunks, all there from the start, on levels, which they share; every stage begins as early as its level and its
    queue allow.

    `servers` has for each level the number of what works on one stage at a time, as `servers_of` says.
    """
    plans, scale = _plans(chains, queue, latency)
    arrivals = [(0, number, 0) for number, chain in enumerate(chains) if chain]
    waiting: list[list[tuple[int, int, int, int]]] = [[] for _ in range(max(servers, default=-1) + 1)]
    free = [0] * len(waiting)
    wakes: list[int] = []
    spans: list[StageSpan] = []
    while arrivals or wakes:
        now = min(arrivals[0][0] if arrivals else wakes[0], wakes[0] if wakes else arrivals[0][0])
        while wakes and wakes[0] == now:
            heappop(wakes)
        while arrivals and arrivals[0][0] == now:
            _, chunk, number = heappop(arrivals)
            level, _, _, rank = plans[chunk][number]
            heappush(waiting[servers[level]], (rank, now, chunk, number))
        for server, line in enumerate(waiting):
            if line and free[server] <= now:
                _, _, chunk, number = heappop(line)
                level, busy, whole, _ = plans[chunk][number]
                free[server] = now + busy
                heappush(wakes, now + busy)
                spans.append(StageSpan(chunk, number, level, now, now + busy, now + whole))
                if number + 1 < len(plans[chunk]):
                    heappush(arrivals, (now + whole, chunk, number + 1))
                if not whole:  # its chunk waits at another level now, before that level begins anything
                    break
    return ChunkTimeline(tuple(spans), Fraction(1, scale))


def replay(
    chains: Sequence[ChunkChain], servers: Sequence[int], sequence: Sequence[int], latency: Latency
) -> ChunkTimeline:
    """
    The chunks where stages go in a given order: each number of `sequence` is the next stage of that chunk.

    A level waits for the stage whose turn it is. Stages that are not listed come after all others, chunk by chunk.
    """
    plans, scale = _plans(chains, "fifo", latency)
    ready, place = [0] * len(chains), [0] * len(chains)
    free = [0] * (max(servers, default=-1) + 1)
    spans: list[StageSpan] = []
    rest = (number for number, plan in enumerate(plans) for _ in plan)
    for chunk in (*sequence, *rest):
        if place[chunk] < len(plans[chunk]):
            level, busy, whole, _ = plans[chunk][place[chunk]]
            begin = max(ready[chunk], free[servers[level]])
            free[servers[level]], ready[chunk] = begin + busy, begin + whole
            spans.append(StageSpan(chunk, place[chunk], level, begin, begin + busy, begin + whole))
            place[chunk] += 1
    return ChunkTimeline(tuple(sorted(spans, key=lambda span: span.begin)), Fraction(1, scale))


def least_seconds(chains: Sequence[ChunkChain], servers: Sequence[int], latency: Latency) -> Fraction:
    """What no schedule of chunks with these stages is below: the longest chunk, and the server with most to do."""
    work = [Fraction(0) for _ in servers]
    longest = Fraction(0)
    for chain, count in Counter(chains).items():
        times = [occupied(stage, latency) for stage in chain]
        longest = max(longest, sum((whole for _, whole in times), Fraction(0)))
        for stage, (busy, _) in zip(chain, times, strict=True):
            work[servers[stage.level]] += count * busy
    return max(longest, *work, Fraction(0))


_Plan = list[tuple[int, int, int, int]]
"""Of each stage of a chunk: the level, the units for which it occupies it and until its result is there, its rank."""


def _plans(chains: Sequence[ChunkChain], queue: Queue, latency: Latency) -> tuple[list[_Plan], int]:
    """The plan of each chunk, and the units of a second; chunks with the same stages are looked at once."""
    alike = {id(chain): chain for chain in chains}
    kinds = [(key, stage, *occupied(stage, latency)) for key, stages in alike.items() for stage in stages]
    scale = lcm(1, *{one.denominator for _, _, *pair in kinds for one in pair})
    ranks = {held: rank for rank, held in enumerate(sorted({stage.held for _, stage, _, _ in kinds}))}
    found: dict[int, _Plan] = {key: [] for key in alike}
    for key, stage, busy, whole in kinds:
        found[key].append(
            (stage.level, _units(busy, scale), _units(whole, scale), ranks[stage.held] * (queue == "scf"))
        )
    return [found[id(chain)] for chain in chains], scale


def _units(seconds: Fraction, scale: int) -> int:
    return seconds.numerator * (scale // seconds.denominator)
