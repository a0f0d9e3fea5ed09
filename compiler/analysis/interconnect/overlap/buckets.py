"""
Into which buckets gradients go, in the order of the backward pass, so that a step is shortest.

    ends = shortest_buckets([SumTimes(ready=1.0, seconds=0.5, saved=0.4, way=0, reading=0.1), …], free=3.0)

The model is a network that is one queue: nothing but the sums of gradients moves on it, each bucket whole and one after
the other. A bucket of gradients i to j begins when the last of them is ready and the bucket before has ended; what
reads its sums (updates) runs behind the other work, in the order of buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SumTimes:
    """
    The sum of a gradient: when the gradient is ready, the seconds of the sum alone, how many of these it saves in a
    bucket that has another of the same `way` (latencies), and the seconds of the work that reads it.
    """

    ready: float
    seconds: float
    saved: float
    way: int
    reading: float


@dataclass(frozen=True)
class _Prefix:
    """Buckets of the first gradients: when the network is free, and when what reads them has run."""

    network: float
    device: float
    before: _Prefix | None
    end: int


def shortest_buckets(sums: Sequence[SumTimes], free: float) -> tuple[int, ...]:
    """
    The numbers of gradients at which the buckets of the shortest step end; `free` is when all other work has run.

    It is exact in this model. A step goes on from its first buckets by two times alone: when the network is free, and
    when the device is. Both times of a longer prefix grow with both, so that of two prefixes of the same gradients one
    that is later in neither can replace the other; dynamic programming keeps the rest of them for each gradient.
    """
    kept: list[list[_Prefix]] = [[_Prefix(0.0, free, None, 0)]]
    for end in range(1, len(sums) + 1):
        found: list[_Prefix] = []
        seconds = reading = 0.0
        ways: dict[int, float] = {}
        ready = max(one.ready for one in sums[:end])
        for first in range(end - 1, -1, -1):
            one = sums[first]
            seconds += one.seconds - (one.saved if one.way in ways else 0.0)
            ways[one.way] = one.saved
            reading += one.reading
            for prefix in kept[first]:
                network = max(prefix.network, ready) + seconds
                found.append(_Prefix(network, max(prefix.device, network) + reading, prefix, end))
        kept.append(_undominated(found))
    last: _Prefix | None = min(kept[-1], key=lambda prefix: prefix.device)
    ends: list[int] = []
    while last is not None and last.end:
        ends.append(last.end)
        last = last.before
    return tuple(reversed(ends))


def _undominated(found: Sequence[_Prefix]) -> list[_Prefix]:
    """Those than which none is earlier in one time and no later in the other."""
    kept: list[_Prefix] = []
    for prefix in sorted(found, key=lambda prefix: (prefix.network, prefix.device)):
        if not kept or prefix.device < kept[-1].device:
            kept.append(prefix)
    return kept
