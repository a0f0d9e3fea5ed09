"""The buckets of the shortest step: beside all contiguous ones, on random steps of a network that is one queue."""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain, combinations, pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.interconnect.chunks.stages import ChunkStage
from npuc.compiler.analysis.interconnect.overlap import buckets
from npuc.compiler.analysis.interconnect.overlap.buckets import SumTimes, shortest_buckets
from npuc.compiler.analysis.interconnect.overlap.step import Movement, Work, overlapped_step

LATENCIES = (Fraction(3), Fraction(5, 2))
"""What a collective of each way takes beside its bytes."""


class Gradient(NamedTuple):
    """The work that makes a gradient, the seconds of its bytes, its way, and the work that reads its sum."""

    work: int
    moved: int
    way: int
    reading: int


gradients = st.lists(
    st.builds(Gradient, st.integers(0, 6), st.integers(0, 5), st.integers(0, 1), st.integers(0, 4)),
    min_size=1,
    max_size=7,
)


def step_seconds(given: Sequence[Gradient], rest: int, ends: Sequence[int]) -> Fraction:
    """A step whose buckets end behind these numbers of gradients, by the events of work and movement."""
    items: list[Work | Movement] = []
    updates: list[Work] = []
    count = 0
    for first, end in pairwise((0, *ends)):
        bucket = given[first:end]
        items += [Work(Fraction(one.work)) for one in bucket]
        waits: list[int] = []
        for way in sorted({one.way for one in bucket}):
            busy = LATENCIES[way] + sum(one.moved for one in bucket if one.way == way)
            items.append(Movement(((ChunkStage(0, Fraction(1), busy, Fraction(0), Fraction(1)),),)))
            waits.append(count)
            count += 1
        updates.append(Work(Fraction(sum(one.reading for one in bucket)), tuple(waits)))
    return overlapped_step([*items, Work(Fraction(rest)), *updates], 1, "serial").seconds


def times_of(given: Sequence[Gradient], rest: int) -> tuple[list[SumTimes], float]:
    found: list[SumTimes] = []
    now = 0
    for one in given:
        now += one.work
        latency = float(LATENCIES[one.way])
        found.append(SumTimes(now, one.moved + latency, latency, one.way, one.reading))
    return found, now + rest


@given(gradients, st.integers(0, 10))
def test_no_contiguous_buckets_are_faster(given: list[Gradient], rest: int) -> None:
    ends = shortest_buckets(*times_of(given, rest))
    assert ends[-1] == len(given)
    assert list(ends) == sorted(set(ends))
    inner = range(1, len(given))
    every = chain.from_iterable(combinations(inner, count) for count in range(len(given)))
    least = min(step_seconds(given, rest, (*own, len(given))) for own in every)
    assert step_seconds(given, rest, ends) == least


@pytest.mark.parametrize("seed", range(3))
def test_three_hundred_gradients_keep_few_prefixes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the 45,150 pairs of ends is joined with a few prefixes, whatever the number of gradients."""
    draw = random.Random(seed)
    times: list[SumTimes] = []
    now = 0.0
    for _ in range(300):
        now += draw.random()
        times.append(SumTimes(now, 0.2 + draw.random(), 0.2, draw.randrange(2), 0.3 * draw.random()))
    joined: list[int] = []
    undominated: Callable[[Sequence[object]], list[object]] = getattr(buckets, "_undominated")

    def counted(found: Sequence[object]) -> list[object]:
        joined.append(len(found))
        return undominated(found)

    monkeypatch.setattr(buckets, "_undominated", counted)
    assert shortest_buckets(times, now + 1)[-1] == 300
    assert sum(joined) < 20 * 45_150
