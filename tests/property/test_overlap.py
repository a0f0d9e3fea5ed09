"""Steps whose movements run beside work: beside a slow walk of what happens, bounds, and one movement alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.interconnect.chunks.cost import chunk_stages, chunked_cost, chunks_by
from npuc.compiler.analysis.interconnect.chunks.events import ChunkChain, Latency, occupied
from npuc.compiler.analysis.interconnect.chunks.stages import ChunkStage
from npuc.compiler.analysis.interconnect.overlap.bound import exposed_bound
from npuc.compiler.analysis.interconnect.overlap.step import Movement, OverlappedStep, Work, overlapped_step
from npuc.compiler.analysis.interconnect.topology import MeshPlacement
from npuc.compiler.core.options import CHUNK_POLICIES, ChunkPolicy
from tests.property.test_scheduled_collectives import latencies, placements

Items = list[Work | Movement]
SERVERS = 3
times = st.builds(Fraction, st.integers(1, 12), st.integers(1, 4))


@st.composite
def chains(draw: st.DrawFn) -> ChunkChain:
    stages = draw(st.lists(st.tuples(st.integers(0, SERVERS - 1), times, times, st.integers(1, 3)), max_size=4))
    return tuple(ChunkStage(level, Fraction(1), busy, late / 4, Fraction(size)) for level, busy, late, size in stages)


@st.composite
def steps(draw: st.DrawFn, *, chunks: int = 4) -> Items:
    """Work and movements, each of which may wait for some of those before."""
    items: Items = []
    moved = 0
    for _ in range(draw(st.integers(1, 9))):
        waits = tuple(sorted(draw(st.sets(st.integers(0, moved - 1), max_size=2)))) if moved else ()
        if draw(st.booleans()):
            items.append(Work(draw(times) * draw(st.integers(0, 2)), waits))
            continue
        own = tuple(draw(st.lists(chains(), min_size=1, max_size=chunks)))
        queue = draw(st.sampled_from(("fifo", "scf", "listed"))) if chunks > 1 else "fifo"
        ways = [number for number, chain in enumerate(own) for _ in chain]
        sequence = tuple(draw(st.permutations(ways)))[: draw(st.integers(0, 9))] if queue == "listed" else ()
        items.append(Movement(own, queue, sequence, waits, draw(st.booleans())))
        moved += 1
    return items


@dataclass
class Walked:
    """A movement of the slow walk: the next stage of each chunk, when that is there, and what is under way."""

    movement: Movement
    next: list[int]
    there: list[Fraction | None]
    ready: Fraction | None = None
    ends: list[Fraction] = field(default_factory=list[Fraction])

    def turn(self, server: int) -> tuple[int, int] | None:
        """Of listed stages the one whose turn it is at a server."""
        place = [0] * len(self.movement.chains)
        rest = [c for c, chain in enumerate(self.movement.chains) for _ in chain]
        for chunk in (*self.movement.sequence, *rest):
            stage = place[chunk]
            if stage < len(self.movement.chains[chunk]):
                place[chunk] += 1
                if self.movement.chains[chunk][stage].level == server and stage >= self.next[chunk]:
                    return chunk, stage
        return None

    @property
    def end(self) -> Fraction | None:
        """When all has ended; None while something has not begun."""
        if self.ready is None or any(n < len(c) for n, c in zip(self.next, self.movement.chains, strict=True)):
            return None
        return max(self.ready, *self.ends) if self.ends else self.ready


@dataclass
class Walk:
    """A step that happens moment by moment: each tries everything that could happen."""

    items: Items
    latency: Latency
    now: Fraction = Fraction(0)
    place: int = 0
    until: Fraction = Fraction(0)
    moving: list[Walked] = field(default_factory=list[Walked])
    begun: list[Fraction] = field(default_factory=list[Fraction])
    free: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * SERVERS)
    moments: set[Fraction] = field(default_factory=set[Fraction])

    def run(self) -> None:
        while True:
            while self.device() or self.readiness():
                pass
            for server in range(SERVERS):
                self.serve(server)
            if self.place == len(self.items) and self.ended(range(len(self.moving))) and self.until <= self.now:
                return
            self.now = min(moment for moment in self.moments if moment > self.now)

    def ended(self, numbers: Sequence[int]) -> bool:
        return all((end := self.moving[n].end) is not None and end <= self.now for n in numbers)

    def device(self) -> bool:
        """The device begins its next item, if it may."""
        if self.place == len(self.items) or self.until > self.now:
            return False
        item = self.items[self.place]
        last = self.items[self.place - 1] if self.place else None
        held = isinstance(last, Movement) and last.holds and not self.ended([len(self.moving) - 1])
        if held or not self.ended(item.waits if isinstance(item, Work) or item.holds else ()):
            return False
        self.place += 1
        self.begun.append(self.now)
        if isinstance(item, Work):
            self.until = self.now + item.seconds
            self.moments.add(self.until)
        else:
            self.moving.append(Walked(item, [0] * len(item.chains), [None] * len(item.chains)))
        return True

    def readiness(self) -> bool:
        """A movement begins, if what it needs is there."""
        for one in self.moving:
            if one.ready is None and self.ended(one.movement.waits):
                one.ready = self.now
                one.there = [self.now] * len(one.movement.chains)
                return True
        return False

    def serve(self, server: int) -> None:
        """A level that is free begins the stage that goes first."""
        if self.free[server] > self.now:
            return
        found: list[tuple[bool, int, Fraction, Fraction, int, int]] = []
        for number, one in enumerate(self.moving):
            for chunk, chain in enumerate(one.movement.chains):
                stage, there = one.next[chunk], one.there[chunk]
                if stage >= len(chain) or chain[stage].level != server or there is None or there > self.now:
                    continue
                listed = one.movement.queue == "listed"
                if not listed or one.turn(server) == (chunk, stage):
                    rank = chain[stage].held if one.movement.queue == "scf" else Fraction(0)
                    found.append((not one.movement.holds, number, rank, there, chunk, stage))
        if found:
            _, number, _, _, chunk, stage = min(found)
            one = self.moving[number]
            busy, whole = occupied(one.movement.chains[chunk][stage], self.latency)
            self.free[server] = self.now + busy
            one.next[chunk] += 1
            one.there[chunk] = self.now + whole
            one.ends.append(self.now + whole)
            self.moments |= {self.now + busy, self.now + whole}


def walk(items: Items, latency: Latency) -> tuple[Fraction, list[Fraction], list[Fraction]]:
    """The time of a step, exposed times and ends of its movements."""
    found = Walk(items, latency)
    found.run()
    ends = [one.end or Fraction(0) for one in found.moving]
    return found.now, exposed_by(items, found.begun, ends), ends


def exposed_by(items: Items, begun: list[Fraction], ends: list[Fraction]) -> list[Fraction]:
    """The exposed time of each movement, from when items begin and movements end."""
    exposed = [Fraction(0)] * len(ends)
    device, number = Fraction(0), 0

    def wait(numbers: Sequence[int]) -> None:
        nonlocal device
        for end, other in sorted((ends[other], other) for other in numbers):
            exposed[other] += max(Fraction(0), end - device)
            device = max(device, end)

    for place, item in enumerate(items):
        if isinstance(item, Work):
            wait(item.waits)
            assert begun[place] == device
            device += item.seconds
        else:
            wait(item.waits if item.holds else ())
            wait((number,) if item.holds else ())
            number += 1
    wait(range(len(ends)))
    return exposed


def work_of(items: Items) -> Fraction:
    return sum((item.seconds for item in items if isinstance(item, Work)), Fraction(0))


def alone(one: Movement, latency: Latency) -> Fraction:
    """What a movement takes by itself."""
    return overlapped_step([Movement(one.chains, one.queue, one.sequence)], SERVERS, latency).seconds


def longest(one: Movement, latency: Latency) -> Fraction:
    """What a movement takes at least: its longest chunk."""
    return max(sum((occupied(stage, latency)[1] for stage in chain), Fraction(0)) for chain in one.chains)


@given(steps(), latencies)
def test_a_step_is_that_of_a_slow_walk(items: Items, latency: Latency) -> None:
    step = overlapped_step(items, SERVERS, latency)
    seconds, exposed, ends = walk(items, latency)
    assert step.seconds == seconds
    assert [one.end for one in step.moved] == ends
    assert [one.exposed for one in step.moved] == exposed


@given(steps(), latencies)
def test_what_is_exposed_and_work_are_the_step(items: Items, latency: Latency) -> None:
    step = overlapped_step(items, SERVERS, latency)
    assert step.exposed + work_of(items) == step.seconds
    movements = [item for item in items if isinstance(item, Movement)]
    least = [longest(one, latency) for one in movements]
    assert step.exposed >= exposed_bound(items, least, latency) >= 0
    assert_shares_levels(step)
    for one in step.moved:
        assert one.ready <= one.begin <= one.end


def assert_shares_levels(step: OverlappedStep) -> None:
    """No level works for two movements at a time."""
    for level in range(SERVERS):
        spans = sorted((b, e) for one in step.moved for own, b, e in one.spans if own == level and e > b)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


@given(steps(chunks=1), latencies)
def test_movements_that_go_whole_beside_work_take_no_longer_than_one_after_the_other(
    items: Items, latency: Latency
) -> None:
    movements = [item for item in items if isinstance(item, Movement)]
    serial = work_of(items) + sum((alone(one, latency) for one in movements), Fraction(0))
    assert overlapped_step(items, SERVERS, latency).seconds <= serial


@given(placements(), times, latencies, st.sampled_from(CHUNK_POLICIES), st.integers(1, 4), st.data())
def test_one_collective_takes_what_it_takes_alone(
    placement: MeshPlacement, size: Fraction, latency: Latency, policy: ChunkPolicy, count: int, data: st.DataObject
) -> None:
    over = tuple(sorted(data.draw(st.sets(st.sampled_from(range(len(placement.groups))), min_size=1))))
    chunks = chunks_by(policy, "all_reduce", size, placement, over, count, latency).chunks
    groups, orders, known = chunk_stages("all_reduce", size, placement, chunks)
    own = {
        order: tuple(ChunkStage(groups[s.level].number, s.sent, s.busy_s, s.delay_s, s.held) for s in chain)
        for order, chain in known.items()
    }
    movement = Movement(tuple(own[order] for order in orders), chunks.queue, chunks.sequence)
    step = overlapped_step([movement], len(placement.network.levels), latency)
    assert step.seconds == chunked_cost("all_reduce", size, placement, over, chunks, latency).seconds


def test_a_worked_example() -> None:
    """Two levels: the second bucket is at the inner level while the first is at the outer one."""

    def bucket(units: int) -> Movement:
        parts = [(1, 2 * units), (0, units), (0, units), (1, 2 * units)]
        zero = Fraction(0)
        return Movement((tuple(ChunkStage(level, zero, Fraction(time), zero, zero) for level, time in parts),))

    items: Items = [Work(Fraction(2)), bucket(1), Work(Fraction(2)), bucket(1)]
    items += [Work(Fraction(1)), Work(Fraction(1), (0,)), Work(Fraction(1), (1,))]
    step = overlapped_step(items, 2, "serial")
    first, second = step.moved
    assert (first.ready, first.begin, first.end) == (2, 2, 8)
    # inner 4 to 6, outer 6 to 8 (free from 6 on), inner again 8 to 10
    assert (second.ready, second.begin, second.end) == (4, 4, 10)
    assert (first.exposed, second.exposed, step.seconds) == (3, 1, 11)
    assert exposed_bound(items, [Fraction(6)] * 2, "serial") == 4
