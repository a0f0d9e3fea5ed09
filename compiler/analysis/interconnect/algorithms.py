"""
How a group of devices communicates along one level of a network: the usual algorithm of each kind.

    kind     reduce-scatter, all-gather       all-to-all                       send and receive
    pair     one exchange                     one exchange                     one message
    ring     p - 1 steps around the ring      each part the shorter way        the shorter way, or both
    fc       one step, to each directly       one step, to each directly       over one link
    switch   halving and doubling, log2 p     pairwise exchange, p - 1 steps   through the switch

On a ring half of the data goes one way round and half the other, so that both links of a device are at work. A group
may be a part of its ring. Devices `stride` places apart send over as many links, which they share with the groups in
between. Devices on an arc of the ring close their own ring by a message back along the arc, so that they have one link
in place of two.

Steps follow each other; the parts of an all-to-all on a ring follow each other without a gap, so that its time is that
of the link with most to carry, and one latency a link of the longest way. Sources: Thakur, Rabenseifner, Gropp,
"Optimization of Collective Communication Operations in MPICH", IJHPCA 2005; Rashidi et al., "Themis", ISCA 2022,
table 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from npuc.compiler.analysis.interconnect.topology import CommunicationGroup


@dataclass(frozen=True)
class Way:
    """
    What sending takes: `waits` latencies one after the other, and for each byte that a device sends the time of
    `crowding` bytes at its full bandwidth, and `hops` links that it crosses on average.
    """

    waits: int
    crowding: Fraction = Fraction(1)
    hops: Fraction = Fraction(1)


def scatter_way(group: CommunicationGroup) -> Way:
    """Reduce-scatter or all-gather within a group."""
    size, stride, whole = group.size, group.stride, group.level.size
    match group.level.kind:
        case "pair":
            return Way(1)
        case "fc":
            return Way(1, Fraction(whole - 1, size - 1))
        case "switch":
            return Way((size - 1).bit_length())
        case "ring" if group.closed:
            return Way((size - 1) * stride, Fraction(stride), Fraction(stride))
        case "ring":
            # all messages but one go `stride` links on, the last one all the way back
            hops = Fraction(2 * (size - 1) * stride, size)
            return Way((size - 1) * (size - 1) * stride, Fraction(2 * stride), hops)


def exchange_way(group: CommunicationGroup) -> Way:
    """All-to-all within a group: a part for each other device."""
    size, stride = group.size, group.stride
    match group.level.kind:
        case "pair" | "fc":
            return scatter_way(group)
        case "switch":
            return Way(size - 1)
        case "ring" if group.closed:
            # the ways to all others are size^2 / 4 places together
            hops = Fraction(size * size // 4 * stride, size - 1)
            return Way(size // 2 * stride, hops, hops)
        case "ring":
            # size^2 / 4 parts cross the middle of the arc in each direction
            most = Fraction(2 * (size * size // 4) * stride, size - 1)
            return Way((size - 1) * stride, most, Fraction((size + 1) * stride, 3))


def message_way(group: CommunicationGroup, pairs: Sequence[tuple[int, int]]) -> Way:
    """Messages of one size from one device of a group to another, for pairs of places within the group, all at once."""
    match group.level.kind:
        case "pair" | "switch":
            return Way(1)
        case "fc":
            return Way(1, Fraction(group.level.size - 1))
        case "ring":
            routes = [_routes(group, *pair) for pair in pairs]
            load: dict[tuple[int, int], Fraction] = {}
            for found in routes:
                for link in (link for route in found for link in route):
                    load[link] = load.get(link, Fraction(0)) + Fraction(1, len(found))
            far = [len(found[0]) * group.stride for found in routes]
            return Way(max(far), 2 * group.stride * max(load.values()), Fraction(sum(far), len(pairs)))


def _routes(group: CommunicationGroup, source: int, target: int) -> list[list[tuple[int, int]]]:
    """
    The shortest ways of a message on a ring: one, or two of one length, between which it is halved.

    A link is the place in the group that it leaves from and its direction, 1 or -1.
    """
    far = {turn: turn * (target - source) for turn in (1, -1)}
    if group.closed:
        far = {turn: steps % group.size for turn, steps in far.items()}
    shortest = min(steps for steps in far.values() if steps > 0)
    return [
        [((source + turn * step) % group.size, turn) for step in range(steps)]
        for turn, steps in far.items()
        if steps == shortest
    ]
