"""
Collectives on the dimensions of a torus or mesh, all of which work at once.

A level of n dimensions has 2 n links a device, each with 1/(2 n) of its bandwidth. Along a dimension of p devices that
is a ring, parts go around it, half of them each way; on a line (a mesh, or a part of a ring) each device passes parts
on to both sides, those for the farthest device first. Either takes p - 1 steps, as both directions work at once:

    ring   a link carries (p - 1) / 2 of the p parts
    line   the link of a device at the end carries p - 1 of them, which no algorithm can avoid: they must get there

A reduce-scatter goes over the dimensions one after the other, in any order, and what comes first moves most. So the
data is cut, and each piece has an order of its own (of n equal dimensions n pieces, each of which begins at another):
the n-ported bucket algorithm of Jain and Sabharwal, "Optimal Bucket Algorithms for Large MPI Collectives on Torus
Interconnects", ICS 2010, and of Sack and Gropp, "Collective Algorithms for Multiported Torus Networks", ACM TOPC 1(2),
2015. What orders move along dimensions adds up to d (1 - 1/P), and any dimensions U move at least what they do where
all of them come last, d (1/R - 1/P), R the product of the sizes of the others. As 1 - 1/P of a set of dimensions is
submodular, mixtures of orders reach all loads that meet these conditions (Edmonds, "Submodular Functions, Matroids, and
Certain Polyhedra", 1970). The busiest link of the best mixture therefore takes

    max over U of  d (1/R - 1/P) / rate of all of U

which is exact (Fujishige, "Lexicographically Optimal Base of a Polymatroid", 1980, says it for all links): of a whole
torus it is d (1 - 1/P) at the device's full bandwidth, whatever its sizes, of a mesh twice
that. With equal dimensions the n pieces take just as long; with others many small pieces come as close as one likes.

All-to-alls and messages take the shortest way along one dimension after the other, the innermost first (dimension-order
routing: Dally, Towles, "Principles and Practices of Interconnection Networks", 2004, chapter 8), half each way around a
ring where both are as short. Of an all-to-all that loads each dimension as its bisection demands: with p even along it,
p d / 4 crosses the middle for each line, on two links each way of a ring and one of a line. It takes the time of the
most loaded link, and one latency for each link of the longest route.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import prod

from npuc.compiler.analysis.interconnect.algorithm import Algorithm, TransferCost
from npuc.compiler.analysis.interconnect.topology import CommunicationGroup, DimensionPart

Link = tuple[int, tuple[int, ...], int]
"""A link of a group: its dimension, the place at which it begins, and the direction, 1 or -1."""


class Grid(Algorithm):
    """All dimensions at once: pieces in orders of their own, single parts and messages by dimension-order routing."""

    def scatter(self, group: CommunicationGroup) -> TransferCost:
        loads, moved = _loads(group.parts), 1 - Fraction(1, group.size)
        busiest = max(loads[part] * crowding_of(part) for part in group.parts)
        carried = sum((loads[part] * part.stride for part in group.parts), Fraction(0))
        waits = sum((part.size - 1) * part.stride for part in group.parts)
        return TransferCost(waits, len(group.level.dimensions) * busiest / moved, carried / moved)

    def exchange(self, group: CommunicationGroup) -> TransferCost:
        parts, scale = group.parts, Fraction(group.size, group.size - 1)
        # size^2 / 4 of a line's parts cross its middle each way; on a ring these are its parts' positions in total
        busiest = max(crowding_of(part) * Fraction(part.size**2 // 4, part.size) for part in parts)
        waits = sum((part.size // 2 if part.closed else part.size - 1) * part.stride for part in parts)
        carried = sum((_distance(part) for part in parts), Fraction(0))
        return TransferCost(waits, len(group.level.dimensions) * busiest * scale, carried * scale)

    def message(self, group: CommunicationGroup, pairs: Sequence[tuple[int, int]]) -> TransferCost:
        load: dict[Link, Fraction] = {}
        far: list[int] = []
        for source, target in pairs:
            far.append(0)
            for part, routes in _routes(group.parts, source, target):
                far[-1] += len(routes[0]) * part.stride
                for link in (link for route in routes for link in route):
                    load[link] = load.get(link, Fraction(0)) + Fraction(part.stride, len(routes))
        crowding = 2 * len(group.level.dimensions) * max(load.values())
        return TransferCost(max(far), crowding, Fraction(sum(far), len(pairs)))


def crowding_of(part: DimensionPart) -> int:
    """
    How much longer the busiest link takes in a reduce-scatter along the dimension alone than two links of each device
    would: groups in between share it, and devices at the end of a line have one.
    """
    return part.stride if part.closed else 2 * part.stride


@cache
def _loads(parts: tuple[DimensionPart, ...]) -> dict[DimensionPart, Fraction]:
    """
    What a device sends along each dimension of a reduce-scatter of one byte, such that the busiest link is as little
    busy as can be, then the next one: the lexicographically optimal base of a polymatroid (Fujishige, 1980).
    """
    if not parts:
        return {}
    whole, best, busiest = prod(part.size for part in parts), Fraction(0), parts
    for count in range(len(parts), 0, -1):
        for last in combinations(parts, count):
            size = prod(part.size for part in last)
            rate = sum((Fraction(1, crowding_of(part)) for part in last), Fraction(0))
            time = Fraction(size - 1, whole) / rate
            if time > best:
                best, busiest = time, last
    return {part: best / crowding_of(part) for part in busiest} | _loads(tuple(p for p in parts if p not in busiest))


def _distance(part: DimensionPart) -> Fraction:
    """The links along a dimension between two devices of a group, in the mean over all pairs, also a device's own."""
    if part.closed:
        return Fraction(part.size**2 // 4 * part.stride, part.size)
    return Fraction((part.size**2 - 1) * part.stride, 3 * part.size)


def _routes(
    parts: Sequence[DimensionPart], source: int, target: int
) -> Iterator[tuple[DimensionPart, list[list[Link]]]]:
    """Along each dimension that a message crosses the shortest routes: one, or two of which each carries half."""
    goal, at = _places(parts, target), list(_places(parts, source))
    for number, part in enumerate(parts):
        far = {turn: turn * (goal[number] - at[number]) for turn in (1, -1)}
        if part.closed:
            far = {turn: steps % part.size for turn, steps in far.items()}
        shortest = min((steps for steps in far.values() if steps > 0), default=0)
        if shortest:
            turns = [turn for turn, steps in far.items() if steps == shortest]
            yield part, [_links(part, number, tuple(at), turn, shortest) for turn in turns]
        at[number] = goal[number]


def _links(part: DimensionPart, number: int, at: tuple[int, ...], turn: int, steps: int) -> list[Link]:
    places = ((at[number] + turn * step) % part.size for step in range(steps))
    return [(number, (*at[:number], place, *at[number + 1 :]), turn) for place in places]


def _places(parts: Sequence[DimensionPart], position: int) -> tuple[int, ...]:
    """The place along each dimension of a position in the group."""
    found: list[int] = []
    for part in parts:
        position, place = divmod(position, part.size)
        found.append(place)
    return tuple(found)
