"""
The ring algorithm: a collective takes p - 1 steps, with half of the data in each direction, so that both links of a
device are busy.

A group may be a part of its ring. Devices `stride` positions apart send over that many links, which they share with the
groups in between. Devices on an arc of the ring close a ring of their own by a message back along the arc, so that they
have one link instead of two.

Steps run one after the other. The parts of an all-to-all are pipelined, so that it takes the time of the most loaded
link, and one latency for each link of the longest route.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from npuc.compiler.analysis.interconnect.algorithm import Algorithm, TransferCost
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup


class Ring(Algorithm):
    """Parts pass from neighbour to neighbour; messages take the shorter route, or half each if both are equal."""

    kinds = ("ring",)

    def scatter(self, group: CommunicationGroup) -> TransferCost:
        size, stride = group.size, group.stride
        if group.closed:
            return TransferCost((size - 1) * stride, Fraction(stride), Fraction(stride))
        # all messages but one cross `stride` links; the last one goes all the way back
        hops = Fraction(2 * (size - 1) * stride, size)
        return TransferCost((size - 1) * (size - 1) * stride, Fraction(2 * stride), hops)

    def exchange(self, group: CommunicationGroup) -> TransferCost:
        size, stride = group.size, group.stride
        if group.closed:
            # the routes to all others cover size^2 / 4 positions in total
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
    The shortest routes of a message on a ring: one, or two of equal length, each of which carries half.

    A link is the position in the group at which it starts and its direction, 1 or -1.
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
