"""Chunks of collectives: bytes, data and times against plain reference forms; the best schedule against all of them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import prod

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.interconnect.chunks.events import (
    LATENCIES,
    ChunkChain,
    ChunkTimeline,
    Latency,
    Queue,
    occupied,
    simulate,
)
from npuc.compiler.analysis.interconnect.chunks.exact import exact_schedule
from npuc.compiler.analysis.interconnect.chunks.policies import POLICIES, Policy, orders_of
from npuc.compiler.analysis.interconnect.chunks.schedule import ChunkedCollective, scheduled
from npuc.compiler.analysis.interconnect.chunks.stages import ChunkOrder, LinkLevel, link_level, sent_bytes, stages_of
from npuc.compiler.analysis.interconnect.collectives import COLLECTIVES, Collective, collective_cost
from npuc.compiler.analysis.interconnect.topology import GRIDS, KINDS, Interconnect, NetworkLevel

fractions = st.builds(Fraction, st.integers(1, 12), st.integers(1, 5))
delays = st.one_of(st.just(Fraction(0)), fractions)
none: st.SearchStrategy[Fraction | None] = st.none()
shared = st.sampled_from((None, None, 0, 1))  # levels with the same link work one at a time
links = st.builds(LinkLevel, st.integers(1, 6), fractions, delays, none, none, shared)
several = st.lists(links, min_size=1, max_size=4).map(tuple)
kinds = st.sampled_from(COLLECTIVES)
latencies = st.sampled_from(LATENCIES)


def a_chunk_order(draw: st.DrawFn, kind: Collective, count: int) -> ChunkOrder:
    one, two = (tuple(draw(st.permutations(range(count)))) for _ in range(2))
    return ChunkOrder(() if kind == "all_gather" else one, two if kind in ("all_gather", "all_reduce") else ())


@st.composite
def collectives(draw: st.DrawFn) -> tuple[ChunkedCollective, tuple[ChunkOrder, ...]]:
    kind, levels, chunks = draw(kinds), draw(several), draw(st.integers(1, 6))
    orders = tuple(a_chunk_order(draw, kind, len(levels)) for _ in range(chunks))
    return ChunkedCollective(kind, draw(fractions), chunks, levels, draw(latencies)), orders


@given(collectives())
def test_bytes_do_not_depend_on_the_order(given_one: tuple[ChunkedCollective, tuple[ChunkOrder, ...]]) -> None:
    one, orders = given_one
    sent = sum(stage.sent for chain in one.chains(orders) for stage in chain)
    assert sent == one.sent == sent_bytes(one.kind, one.size, one.levels)
    devices = prod(level.size for level in one.levels)
    if one.kind == "all_reduce":
        assert sent == 2 * one.size * (1 - Fraction(1, devices))


def reduced(data: np.ndarray, axis: int, moved: list[int]) -> np.ndarray:
    """Each device of an axis keeps its part of the sum over the axis: data are [device of each level …, element]."""
    count = data.shape[axis]
    parts = np.array_split(data.sum(axis=axis, keepdims=True).repeat(count, axis), count, axis=-1)
    moved.append((count - 1) * parts[0].shape[-1])
    return np.concatenate([np.take(part, [at], axis=axis) for at, part in enumerate(parts)], axis=axis)


def gathered(data: np.ndarray, axis: int, moved: list[int]) -> np.ndarray:
    """Each device of an axis has the parts of all of them, in order."""
    count = data.shape[axis]
    moved.append((count - 1) * data.shape[-1])
    whole = np.concatenate([np.take(data, [at], axis=axis) for at in range(count)], axis=-1)
    return whole.repeat(count, axis)


@given(st.data(), st.lists(st.integers(2, 4), min_size=1, max_size=3))
def test_sums_are_right_in_any_order_and_bytes_are_the_stages(data: st.DataObject, sizes: list[int]) -> None:
    order = tuple(data.draw(st.permutations(range(len(sizes)))))
    count = prod(sizes)
    values = np.random.Generator(np.random.PCG64(count)).integers(0, 9, size=(*sizes, 2 * count))
    now, moved, held = values, list[int](), list[int]()
    for axis in order:
        held.append(now.shape[-1])
        now = reduced(now, axis, moved)
    for axis in reversed(order):  # parts come back in the order in which they were given away
        now = gathered(now, axis, moved)
        held.append(now.shape[-1])
    total = values.sum(axis=tuple(range(len(sizes))))
    assert (now == total).all()
    levels = [LinkLevel(size, Fraction(1)) for size in sizes]
    stages = stages_of("all_reduce", Fraction(2 * count), levels, ChunkOrder(order, order[::-1]))
    assert [stage.sent for stage in stages] == moved
    assert [stage.held for stage in stages] == held


@st.composite
def networks(draw: st.DrawFn) -> Interconnect:
    levels: list[NetworkLevel] = []
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3)):
        count = 3 if kind in GRIDS else 1
        sizes = (2,) if kind == "pair" else tuple(draw(st.lists(st.integers(2, 6), min_size=1, max_size=count)))
        own = sizes if kind in GRIDS else ()
        levels.append(NetworkLevel(kind, prod(sizes), draw(fractions), draw(fractions), sizes=own))
    return Interconnect(tuple(levels))


@given(networks(), kinds, fractions, latencies)
def test_one_chunk_takes_what_stages_one_after_the_other_take(
    network: Interconnect, kind: Collective, size: Fraction, latency: Latency
) -> None:
    mesh = network.place([level.size for level in network.levels])
    levels = tuple(map(link_level, mesh.along(range(len(network.levels)))))
    one = scheduled(ChunkedCollective(kind, size, 1, levels, latency), "baseline")
    cost = collective_cost(kind, size, mesh, range(len(network.levels)))
    assert one.seconds == cost.seconds
    assert one.collective.sent == cost.sent


Event = tuple[int, int, int, Fraction, Fraction, Fraction]


def by_scanning(chains: Sequence[ChunkChain], servers: Sequence[int], queue: Queue, latency: Latency) -> list[Event]:
    """The same events another way: the stage that begins first of all that may be next, one after the other."""
    place, free = [0] * len(chains), [Fraction(0)] * len(servers)
    arrived = [Fraction(0) for _ in chains]
    found: list[Event] = []
    while any(at < len(chain) for at, chain in zip(place, chains, strict=True)):
        able = [n for n, chain in enumerate(chains) if place[n] < len(chain)]
        server = {n: servers[chains[n][place[n]].level] for n in able}
        begins = {n: max(arrived[n], free[server[n]]) for n in able}
        now = min(begins.values())
        next_one = min(server[n] for n in able if begins[n] == now)
        line = [n for n in able if begins[n] == now and server[n] == next_one]
        first = min(line, key=lambda n: (chains[n][place[n]].held * (queue == "scf"), arrived[n], n))
        stage = chains[first][place[first]]
        busy, whole = occupied(stage, latency)
        found.append((first, place[first], stage.level, now, now + busy, now + whole))
        free[next_one], arrived[first], place[first] = now + busy, now + whole, place[first] + 1
    return found


def check(timeline: ChunkTimeline, chains: Sequence[ChunkChain], servers: Sequence[int], latency: Latency) -> None:
    """Every stage once, after the one before it, and no links busy twice at a time."""
    assert len(timeline.spans) == sum(len(chain) for chain in chains)
    for number, chain in enumerate(chains):
        own = sorted((span for span in timeline.spans if span.chunk == number), key=lambda span: span.number)
        ready = Fraction(0)
        for span, stage in zip(own, chain, strict=True):
            busy, whole = occupied(stage, latency)
            assert (span.free - span.begin, span.done - span.begin) == (busy / timeline.unit_s, whole / timeline.unit_s)
            assert span.level == stage.level
            assert span.begin >= ready
            ready = span.done
    for server in set(servers):
        spans = [span for span in timeline.spans if servers[span.level] == server]
        own = sorted(spans, key=lambda span: (span.begin, span.free))
        assert all(before.free <= after.begin for before, after in pairwise(own))


@given(collectives(), st.sampled_from(("fifo", "scf")))
def test_events_are_those_of_a_plain_walk(
    given_one: tuple[ChunkedCollective, tuple[ChunkOrder, ...]], queue: Queue
) -> None:
    one, orders = given_one
    chains = one.chains(orders)
    timeline = simulate(chains, one.servers, queue, one.latency)
    check(timeline, chains, one.servers, one.latency)
    unit = timeline.unit_s
    spans = [(s.chunk, s.number, s.level, s.begin * unit, s.free * unit, s.done * unit) for s in timeline.spans]
    assert sorted(spans) == sorted(by_scanning(chains, one.servers, queue, one.latency))
    assert timeline.seconds == max(span[5] for span in spans)


@given(collectives())
def test_nothing_is_below_the_bound(given_one: tuple[ChunkedCollective, tuple[ChunkOrder, ...]]) -> None:
    one, orders = given_one
    for queue in ("fifo", "scf"):
        assert simulate(one.chains(orders), one.servers, queue, one.latency).seconds >= one.bound_s
    for policy in POLICIES:
        found = scheduled(one, policy)
        assert found.gap >= 0
        assert found.utilisation <= 1
        check(found.timeline, one.chains(found.orders), one.servers, one.latency)


@given(kinds, latencies, st.sampled_from(POLICIES))
def test_nothing_that_is_sent_uses_nothing(kind: Collective, latency: Latency, policy: Policy) -> None:
    """Without levels, or with levels of one device: its messages take their time."""
    for levels, seconds in (
        ((), 0),
        ((LinkLevel(1, Fraction(2)),), 0),
        ((LinkLevel(1, Fraction(2)), LinkLevel(1, Fraction(1), Fraction(3))), 3 * (1 + (kind == "all_reduce"))),
    ):
        found = scheduled(ChunkedCollective(kind, Fraction(8), 1, levels, latency), policy)
        assert (found.seconds, found.utilisation, found.gap) == (seconds, 0, 0)
        assert exact_schedule(found.collective).schedule.seconds == seconds


def test_a_level_of_one_device_cannot_be_used() -> None:
    one = ChunkedCollective("all_gather", Fraction(8), 4, (LinkLevel(4, Fraction(1)), LinkLevel(1, Fraction(1))))
    assert scheduled(one, "baseline").utilisation == 1


@given(several, kinds, fractions, st.integers(1, 9))
def test_orders_visit_every_level_once(
    levels: tuple[LinkLevel, ...], kind: Collective, size: Fraction, chunks: int
) -> None:
    every = list(range(len(levels)))
    for policy in POLICIES:
        orders = orders_of(policy, kind, size, chunks, levels)
        assert len(orders) == chunks
        for order in orders:
            assert sorted(order.scatter) == ([] if kind == "all_gather" else every)
            assert sorted(order.gather) == (every if kind in ("all_gather", "all_reduce") else [])
            assert kind != "all_reduce" or order.gather == order.scatter[::-1]


def sequences(counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All orders of chunks, each of which comes as often as its count says."""
    if not any(counts):
        yield ()
    for number, count in enumerate(counts):
        if count:
            for rest in sequences((*counts[:number], count - 1, *counts[number + 1 :])):
                yield (number, *rest)


def best_of_all(one: ChunkedCollective) -> Fraction:
    """The least time of all orders of all chunks, with all orders in which stages may be put behind each other."""
    best = None
    for orders in combinations_with_replacement(one.all_orders(), one.chunks):
        chains = one.chains(orders)
        times = [[occupied(stage, one.latency) for stage in chain] for chain in chains]
        for sequence in sequences(tuple(len(chain) for chain in chains)):
            place, free = [0] * len(chains), [Fraction(0)] * len(one.levels)
            ready = [Fraction(0)] * len(chains)
            for number in sequence:
                server = one.servers[chains[number][place[number]].level]
                busy, whole = times[number][place[number]]
                begin = max(ready[number], free[server])
                free[server], ready[number], place[number] = begin + busy, begin + whole, place[number] + 1
            best = max(ready) if best is None else min(best, max(ready))
    assert best is not None
    return best


@given(st.tuples(links, links), st.sampled_from(("all_gather", "reduce_scatter", "all_to_all")), latencies)
@settings(max_examples=15)
def test_the_best_schedule_is_the_best_of_all(
    levels: tuple[LinkLevel, LinkLevel], kind: Collective, latency: Latency
) -> None:
    one = ChunkedCollective(kind, Fraction(1), 3, levels, latency)
    found = exact_schedule(one)
    assert found.proved
    assert found.schedule.seconds == best_of_all(one)
    check(found.schedule.timeline, one.chains(found.schedule.orders), one.servers, latency)


@given(st.tuples(links, links), latencies)
@settings(max_examples=10)
def test_the_best_all_reduce_of_two_chunks_is_the_best_of_all(
    levels: tuple[LinkLevel, LinkLevel], latency: Latency
) -> None:
    one = ChunkedCollective("all_reduce", Fraction(1), 2, levels, latency)
    found = exact_schedule(one)
    assert found.proved
    assert found.schedule.seconds == best_of_all(one)


@given(st.tuples(links, links, links), latencies)
@settings(max_examples=10)
def test_the_best_gather_over_three_levels_is_the_best_of_all(
    levels: tuple[LinkLevel, LinkLevel, LinkLevel], latency: Latency
) -> None:
    one = ChunkedCollective("all_gather", Fraction(1), 2, levels, latency)
    assert exact_schedule(one).schedule.seconds == best_of_all(one)


def test_the_best_schedule_may_let_a_level_wait() -> None:
    """The best one whose levels begin what is there takes half a second more."""
    levels = LinkLevel(4, Fraction(5), Fraction(2)), LinkLevel(4, Fraction(2), Fraction(6))
    found = exact_schedule(ChunkedCollective("all_reduce", Fraction(24), 3, levels))
    assert found.proved
    assert found.schedule.seconds == 89


@given(several, fractions, st.integers(1, 6), st.sampled_from(POLICIES))
def test_a_gather_goes_back_the_way_of_a_scatter(
    levels: tuple[LinkLevel, ...], size: Fraction, chunks: int, policy: Policy
) -> None:
    """What is gathered in the end has as many bytes as what is scattered."""
    whole = size * prod(level.size for level in levels)
    gathers = orders_of(policy, "all_gather", size, chunks, levels)
    scatters = orders_of(policy, "reduce_scatter", whole, chunks, levels)
    assert [one.gather for one in gathers] == [one.scatter[::-1] for one in scatters]


def test_loads_that_differ_by_less_than_a_sixteenth_of_a_chunk_are_alike() -> None:
    """A chunk of 32 bytes sends 16 along a level, so that a second is a sixteenth."""
    for delay, first in ((Fraction(99, 100), 0), (Fraction(1), 1)):
        levels = LinkLevel(2, Fraction(1), delay), LinkLevel(2, Fraction(1))
        (order,) = orders_of("themis-fifo", "reduce_scatter", Fraction(32), 1, levels)
        assert order.scatter[0] == first


@given(collectives())
def test_the_best_schedule_is_no_worse_than_any_policy(
    given_one: tuple[ChunkedCollective, tuple[ChunkOrder, ...]],
) -> None:
    one, orders = given_one
    assume(one.chunks <= 3)
    found = exact_schedule(one, 300)
    times = [scheduled(one, policy).seconds for policy in POLICIES]
    assert one.bound_s <= found.schedule.seconds <= min(times)
    if found.proved:
        assert found.schedule.seconds <= simulate(one.chains(orders), one.servers, "fifo", one.latency).seconds
