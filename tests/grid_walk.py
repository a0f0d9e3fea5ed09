"""
Collectives on a torus or mesh, message by message over links of their own, with the data that they move.

A device has a place along each dimension, and a link to the next place on either side. All groups of the level work at
the same time. A step ends when its last message has arrived: a latency for each link of the longest way, and the time
that the busiest link needs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod

from npuc.compiler.analysis.interconnect.topology import CommunicationGroup, DimensionPart, NetworkLevel

Place = tuple[int, ...]
Link = tuple[Place, int, int]
Key = tuple[int, ...]


@dataclass
class GridWalk:
    """What has happened so far: seconds, the bytes that each link carried, and those that devices sent."""

    level: NetworkLevel
    seconds: Fraction = Fraction(0)
    sent: Fraction = Fraction(0)
    load: dict[Link, Fraction] = field(default_factory=dict[Link, Fraction])

    @property
    def rate(self) -> Fraction:
        """Bytes a second of a link."""
        return self.level.bytes_per_s / (2 * len(self.level.dimensions))

    @property
    def carried(self) -> Fraction:
        """The bytes of all links."""
        return sum(self.load.values(), Fraction(0))

    def step(self, messages: list[tuple[Fraction, list[Link], int]]) -> None:
        """Messages at the same time: bytes, links, and the latencies of the whole way of which these are a part."""
        load: dict[Link, Fraction] = {}
        for size, links, _ in messages:
            for link in links:
                load[link] = load.get(link, Fraction(0)) + size
        for link, size in load.items():
            self.load[link] = self.load.get(link, Fraction(0)) + size
        self.seconds += max(far for _, _, far in messages) * self.level.latency_s + max(load.values()) / self.rate


def places_of(level: NetworkLevel) -> list[Place]:
    """The places of all devices, in the order of their numbers."""
    return list(product(*map(range, level.dimensions)))


def groups_on(group: CommunicationGroup) -> list[list[Place]]:
    """The members of every group of this kind, the first part's place counted fastest."""
    found: dict[Place, list[tuple[Key, Place]]] = {}
    for place in places_of(group.level):
        rest, key = list(place), list[int]()
        for part in group.parts:
            digit = place[part.dimension] // part.stride % part.size
            rest[part.dimension] -= digit * part.stride
            key.insert(0, digit)
        found.setdefault(tuple(rest), []).append((tuple(key), place))
    return [[place for _, place in sorted(own)] for own in found.values()]


def links_along(level: NetworkLevel, place: Place, dimension: int, turn: int, steps: int) -> list[Link]:
    """The links of a way along a dimension; a mesh has none around its end."""
    found: list[Link] = []
    here, length = list(place), level.dimensions[dimension]
    for _ in range(steps):
        found.append((tuple(here), dimension, turn))
        here[dimension] += turn
        assert level.kind == "torus" or 0 <= here[dimension] < length
        here[dimension] %= length
    return found


Bundle = dict[Key, int]
"""The numbers behind parts of the data, by the device that each is for."""


@dataclass
class Piece:
    """A piece of the data, or half of one that goes one way around: its order of dimensions, what devices hold."""

    order: tuple[int, ...]
    turns: tuple[int, ...]
    held: dict[Key, Bundle]


Move = tuple[Key, Key, Bundle, int]
"""From a member to another along a dimension: a bundle, and the direction."""


class EqualParts:
    """Members of a group by digits along its parts, which all are alike in size, stride and whether they close."""

    def __init__(self, group: CommunicationGroup) -> None:
        self.group, self.parts = group, group.parts
        (self.like,) = {(part.size, part.stride, part.closed) for part in group.parts}
        self.size, self.stride, self.closed = self.like
        self.keys: list[Key] = list(product(*(range(part.size) for part in self.parts)))

    def pieces(self, numbers: dict[Key, Bundle]) -> list[Piece]:
        """A piece for each dimension to begin at; in halves around rings."""
        count = len(self.parts)
        orders = [tuple((first + more) % count for more in range(count)) for first in range(count)]
        turns: list[tuple[int, ...]] = [(1,), (-1,)] if self.closed else [(1, -1)]
        return [
            Piece(order, turn, {key: dict(own) for key, own in numbers.items()}) for order in orders for turn in turns
        ]

    def near(self, key: Key, along: int, turn: int) -> Key:
        """The next member in a direction."""
        return (*key[:along], (key[along] + turn) % self.size, *key[along + 1 :])

    def messages(self, moves: list[tuple[Fraction, int, list[Move]]]) -> list[tuple[Fraction, list[Link], int]]:
        """The messages of moves in all groups; each with the bytes of a part and its dimension."""
        found: list[tuple[Fraction, list[Link], int]] = []
        for members in groups_on(self.group):
            at = dict(zip(sorted(self.keys, key=lambda key: key[::-1]), members, strict=True))
            for part_bytes, along, own in moves:
                for source, _, bundle, turn in own:
                    links = links_along(
                        self.group.level, at[source], self.parts[along].dimension, turn, self.parts[along].stride
                    )
                    found.append((part_bytes * len(bundle), links, self.parts[along].stride))
        return found

    def scatter_moves(self, piece: Piece, phase: int, step: int) -> list[Move]:
        """What goes on in a step of a piece: sums on their way to the devices that they are for."""
        along = piece.order[phase]
        found: list[Move] = []
        for key, own in piece.held.items():
            for turn in piece.turns:
                if self.closed:
                    goes = (key[along] - turn * step) % self.size
                else:
                    goes = self.size - 1 - step + key[along] if turn == 1 else step - (self.size - 1 - key[along])
                    if not 0 <= goes < self.size:
                        continue
                bundle = {other: number for other, number in own.items() if other[along] == goes}
                found.append((key, self.near(key, along, turn), bundle, turn))
        return found


def walk_grid_scatter(
    group: CommunicationGroup, part: Fraction, numbers: dict[Key, Bundle]
) -> tuple[GridWalk, list[dict[Key, Bundle]]]:
    """
    Reduce-scatter of equal dimensions: each member has a part of that many bytes for each. What is held at the end.
    """
    walk, equal = GridWalk(group.level), EqualParts(group)
    pieces = equal.pieces(numbers)
    share = part / len(pieces)
    for phase in range(len(group.parts)):
        lines = [] if equal.closed else [_both_ways(piece, phase) for piece in pieces]
        for step in range(equal.size - 1):
            moves: list[list[Move]] = []
            for number, piece in enumerate(pieces):
                moves.append(equal.scatter_moves(piece, phase, step))
                if not equal.closed:
                    moves[-1] = [_from_side(move, lines[number]) for move in moves[-1]]
            _send(walk, equal, share, phase, pieces, moves)
            for number, own in enumerate(moves):
                for _, target, bundle, turn in own:
                    into = pieces[number].held[target] if equal.closed else lines[number][turn][target]
                    for key, value in bundle.items():
                        into[key] += value
        for number, piece in enumerate(pieces):
            _keep(equal, piece, phase, None if equal.closed else lines[number])
    return walk, [piece.held for piece in pieces]


def walk_grid_gather(group: CommunicationGroup, part: Fraction) -> tuple[GridWalk, list[dict[Key, Bundle]]]:
    """All-gather of equal dimensions of a part of that many bytes at each member, backwards through the orders."""
    walk, equal = GridWalk(group.level), EqualParts(group)
    pieces = equal.pieces({key: {key: 1} for key in equal.keys})
    share = part / len(pieces)
    for phase in reversed(range(len(group.parts))):
        latest = [{turn: dict(piece.held) for turn in piece.turns} for piece in pieces]
        for _ in range(equal.size - 1):
            moves: list[list[Move]] = []
            for number, piece in enumerate(pieces):
                along = piece.order[phase]
                own: list[Move] = []
                for turn, bundles in latest[number].items():
                    for key, bundle in bundles.items():
                        if equal.closed or 0 <= key[along] + turn < equal.size:
                            own.append((key, equal.near(key, along, turn), bundle, turn))
                moves.append(own)
            _send(walk, equal, share, phase, pieces, moves)
            for number, own in enumerate(moves):
                fresh: dict[int, dict[Key, Bundle]] = {turn: {} for turn in pieces[number].turns}
                for _, target, bundle, turn in own:
                    fresh[turn][target] = bundle
                for turn in fresh:
                    for target, bundle in fresh[turn].items():
                        pieces[number].held[target] = pieces[number].held[target] | bundle
                latest[number] = fresh
    return walk, [piece.held for piece in pieces]


def _send(
    walk: GridWalk, equal: EqualParts, share: Fraction, phase: int, pieces: list[Piece], moves: list[list[Move]]
) -> None:
    """A step of all pieces at once."""
    listed = [(share, piece.order[phase], own) for piece, own in zip(pieces, moves, strict=True)]
    messages = equal.messages(listed)
    walk.sent += sum((size for size, _, _ in messages), Fraction(0))
    walk.step(messages)


def _both_ways(piece: Piece, phase: int) -> dict[int, dict[Key, Bundle]]:
    """On a line, sums on their way to either side: those that begin at a device have its own numbers."""
    along = piece.order[phase]
    return {
        turn: {
            key: {to: n if (to[along] - key[along]) * turn > 0 else 0 for to, n in own.items()}
            for key, own in piece.held.items()
        }
        for turn in piece.turns
    }


def _from_side(move: Move, lines: dict[int, dict[Key, Bundle]]) -> Move:
    source, target, bundle, turn = move
    return source, target, {key: lines[turn][source][key] for key in bundle}, turn


def _keep(equal: EqualParts, piece: Piece, phase: int, lines: dict[int, dict[Key, Bundle]] | None) -> None:
    """What members hold after a phase."""
    along = piece.order[phase]
    for key, own in piece.held.items():
        if lines is None:
            kept = (key[along] + piece.turns[0]) % equal.size
            piece.held[key] = {to: n for to, n in own.items() if to[along] == kept}
        else:
            piece.held[key] = {
                to: n + sum(lines[turn][key][to] for turn in lines) for to, n in own.items() if to[along] == key[along]
            }


def ways(level: NetworkLevel, part: DimensionPart, place: Place, target: int) -> list[list[Link]]:
    """The shortest ways of a message along a dimension, inside the line where devices do not go all around."""
    source, length = place[part.dimension], part.length
    far = {turn: turn * (target - source) for turn in (1, -1)}
    if part.closed:
        far = {turn: steps % length for turn, steps in far.items()}
    steps = [(steps, turn) for turn, steps in far.items() if steps > 0]
    least = min(steps)[0]
    return [links_along(level, place, part.dimension, turn, count) for count, turn in steps if count == least]


def walk_grid_messages(group: CommunicationGroup, size: Fraction, pairs: list[tuple[int, int]]) -> GridWalk:
    """Messages between members of each group, all at once, along the first part, then along the next one."""
    walk = GridWalk(group.level)
    messages: list[tuple[Fraction, list[Link], int]] = []
    for members in groups_on(group):
        for source, target in pairs:
            for split, links, far in message_ways(group, members[source], members[target]):
                messages.append((size / split, links, far))
        walk.sent += size * len(pairs)
    walk.step(messages)
    return walk


def message_ways(group: CommunicationGroup, source: Place, target: Place) -> Iterator[tuple[int, list[Link], int]]:
    """Of a message each way along each dimension, in how many it is split there, and the links of the whole message."""
    found: list[list[list[Link]]] = []
    for part in group.parts:
        if source[part.dimension] != target[part.dimension]:
            found.append(ways(group.level, part, source, target[part.dimension]))
            source = tuple(target[n] if n == part.dimension else one for n, one in enumerate(source))
    assert source == target
    far = sum(len(own[0]) for own in found)
    for own in found:
        for links in own:
            yield len(own), links, far


def members_count(group: CommunicationGroup) -> int:
    """The devices of the level, and a check of the group's parts."""
    assert prod(part.size for part in group.parts) == group.size
    return len(places_of(group.level))
