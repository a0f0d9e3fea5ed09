"""
Collectives on one level of a network, step by step: links of their own, messages that cross them, and the data sent.

All groups of the level work at the same time, so that they meet on the links. A step ends when its last message has
arrived: one latency a link of the longest way, and the time that the busiest link needs for its bytes.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations

from npuc.compiler.analysis.interconnect.topology import CommunicationGroup, NetworkLevel

Link = Hashable


@dataclass(frozen=True)
class Message:
    """A message or a part of one: its bytes, the links that it crosses, and how many latencies that takes."""

    size: Fraction
    links: tuple[Link, ...]
    hops: int


Held = list[dict[int, int]]
"""What each member of a group holds: the number behind each part of the data."""


@dataclass
class Walk:
    """What has happened on a level so far: seconds, bytes that devices sent, bytes over links."""

    level: NetworkLevel
    seconds: Fraction = Fraction(0)
    sent: Fraction = Fraction(0)
    carried: Fraction = Fraction(0)

    def rate(self) -> Fraction:
        """Bytes a second of one link."""
        whole = self.level.bytes_per_s
        return {"pair": whole, "ring": whole / 2, "fc": whole / (self.level.size - 1), "switch": whole}[self.level.kind]

    def step(self, messages: Iterable[Message]) -> None:
        """Messages that are on their way at the same time."""
        load: dict[Link, Fraction] = {}
        longest = 0
        for message in messages:
            longest = max(longest, message.hops)
            self.sent += message.size
            self.carried += message.size * message.hops
            for link in message.links:
                load[link] = load.get(link, Fraction(0)) + message.size
        self.seconds += longest * self.level.latency_s + max(load.values()) / self.rate()


def members_of(group: CommunicationGroup) -> list[list[int]]:
    """The devices of every group of this kind on the level."""
    span = group.size * group.stride
    return [
        [start + offset + place * group.stride for place in range(group.size)]
        for start in range(0, group.level.size, span)
        for offset in range(group.stride)
    ]


def around(level: NetworkLevel, source: int, target: int, turn: int, size: Fraction) -> Message:
    """A message on a ring in one direction."""
    links: list[Link] = []
    while source != target:
        links.append((source, turn))
        source = (source + turn) % level.size
    return Message(size, tuple(links), len(links))


def carry(group: CommunicationGroup, source: int, target: int, size: Fraction) -> Iterator[Message]:
    """A message by the shortest way; on a ring half each way where both are as short, and never out of an arc."""
    match group.level.kind:
        case "pair" | "fc":
            yield Message(size, ((source, target),), 1)
        case "switch":
            yield Message(size, (("up", source), ("down", target)), 1)
        case "torus" | "mesh":
            raise AssertionError("those of several dimensions are walked in grid_walk")
        case "ring":
            ways = [around(group.level, source, target, turn, size) for turn in (1, -1)]
            if not group.closed:
                ways = [ways[0 if target > source else 1]]
            shortest = [way for way in ways if way.hops == min(way.hops for way in ways)]
            for way in shortest:
                yield replace(way, size=size / len(shortest))


def ring_steps(group: CommunicationGroup, part: Fraction) -> Iterator[list[Message]]:
    """The steps of the ring algorithm: each device passes half a part on to either side."""
    for _ in range(group.size - 1):
        step: list[Message] = []
        for members in members_of(group):
            for place, source in enumerate(members):
                for turn in (1, -1):
                    target = members[(place + turn) % group.size]
                    back = not group.closed and not 0 <= place + turn < group.size
                    step.append(around(group.level, source, target, -turn if back else turn, part / 2))
        yield step


def walk_scatter(group: CommunicationGroup, part: Fraction, held: Held) -> tuple[Walk, Held]:
    """
    Reduce-scatter: parts of that many bytes are added up, each of them at one device. The numbers of one group are
    followed, the messages of all.
    """
    walk, size = Walk(group.level), group.size
    held = [dict(parts) for parts in held]
    if group.level.kind == "ring":
        for number, step in enumerate(ring_steps(group, part)):
            walk.step(step)
            moved = [(place, (place - number) % size) for place in range(size)]
            sums = [(place, key, held[place][key]) for place, key in moved]
            for place, key, value in sums:
                held[(place + 1) % size][key] += value
        return walk, [{(place + 1) % size: held[place][(place + 1) % size]} for place in range(size)]
    if group.level.kind == "switch":
        owned = [list(range(size)) for _ in range(size)]
        half = size // 2
        while half:
            walk.step(_sent(group, [(place, place ^ half) for place in range(size)], half * part))
            kept = [[key for key in owned[place] if bool(key & half) == bool(place & half)] for place in range(size)]
            held = [{key: held[place][key] + held[place ^ half][key] for key in kept[place]} for place in range(size)]
            owned, half = kept, half // 2
        return walk, held
    walk.step(_to_all(group, part))
    return walk, [{place: sum(other[place] for other in held)} for place in range(size)]


def walk_gather(group: CommunicationGroup, part: Fraction, held: Held) -> tuple[Walk, Held]:
    """All-gather: parts of that many bytes, one at each device, become known to all."""
    walk, size = Walk(group.level), group.size
    held = [dict(parts) for parts in held]
    if group.level.kind == "ring":
        latest = [next(iter(parts)) for parts in held]
        for step in ring_steps(group, part):
            walk.step(step)
            latest = [latest[place - 1] for place in range(size)]
            for place in range(size):
                held[place][latest[place]] = held[place - 1][latest[place]]
        return walk, held
    if group.level.kind == "switch":
        half = 1
        while half < size:
            walk.step(_sent(group, [(place, place ^ half) for place in range(size)], half * part))
            held = [held[place] | held[place ^ half] for place in range(size)]
            half *= 2
        return walk, held
    walk.step(_to_all(group, part))
    return walk, [{key: value for other in held for key, value in other.items()} for _ in held]


def walk_exchange(group: CommunicationGroup, part: Fraction) -> Walk:
    """All-to-all: each device has a part of that many bytes for each other one."""
    walk = Walk(group.level)
    if group.level.kind == "switch":
        for shift in range(1, group.size):
            walk.step(_sent(group, [(place, (place + shift) % group.size) for place in range(group.size)], part))
    else:
        walk.step(_to_all(group, part))
    return walk


def walk_messages(group: CommunicationGroup, size: Fraction, pairs: Iterable[tuple[int, int]]) -> Walk:
    """Messages between places of each group, all at once."""
    walk = Walk(group.level)
    walk.step(_sent(group, list(pairs), size))
    return walk


def _to_all(group: CommunicationGroup, part: Fraction) -> Iterator[Message]:
    """A part from each device of each group to each other one of it."""
    return _sent(group, list(permutations(range(group.size), 2)), part)


def _sent(group: CommunicationGroup, pairs: list[tuple[int, int]], size: Fraction) -> Iterator[Message]:
    """Messages between the same places of every group."""
    for members in members_of(group):
        for source, target in pairs:
            yield from carry(group, members[source], members[target], size)
