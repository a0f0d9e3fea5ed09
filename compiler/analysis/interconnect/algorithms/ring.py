"""
Around a ring: p - 1 steps of a collective, half of the data one way round and half the other, so that both links of a
device are at work.

A group may be a part of its ring. Devices `stride` places apart send over as many links, which they share with the
groups in between. Devices on an arc of the ring close their own ring by a message back along the arc, so that they have
one link in place of two.

Steps follow each other; the parts of an all-to-all follow each other without a gap, so that its time is that of the
link with most to carry, and one latency a link of the longest way.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from npuc.compiler.analysis.interconnect.algorithm import Algorithm, TransferCost
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup


class Ring(Algorithm):
    """Neighbours pass parts on; other messages take the shorter way, or half each way where both are as short."""

    kinds = ("ring",)

    def scatter(self, group: CommunicationGroup) -> TransferCost:
        size, stride = group.size, group.stride
        if group.closed:
            return TransferCost((size - 1) * stride, Fraction(stride), Fraction(stride))
        # all messages but one go `stride` links on, the last one all the way back
        hops = Fraction(2 * (size - 1) * stride, size)
        return TransferCost((size - 1) * (size - 1) * stride, Fraction(2 * stride), hops)

    def exchange(self, group: CommunicationGroup) -> TransferCost:
        size, stride = group.size, group.stride
        if group.closed:
            # the ways to all others are size^2 / 4 places together
            hops = Fraction(size * size // 4 * stride, size - 1)
            return TransferCost(size // 2 * stride, hops, hops)
        # size^2 / 4 parts cross the middle of the arc in each direction
        most = Fraction(2 * (size * size // 4) * stride, size - 1)
        return TransferCost((size - 1) * stride, most, Fraction((size + 1) * stride, 3))

    def message(self, group: CommunicationGroup, pairs: Sequence[tuple[int, int]]) -> TransferCost:
        routes = [_routes(group, *pair) for pair in pairs]
        load: dict[tuple[int, int], Fraction] = {}
        for found in routes:
            for link in (link for route in found for link in route):
                load[link] = load.get(link, Fraction(0)) + Fraction(1, len(found))
        far = [len(found[0]) * group.stride for found in routes]
        return TransferCost(max(far), 2 * group.stride * max(load.values()), Fraction(sum(far), len(pairs)))


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


ALGORITHM = Ring()
