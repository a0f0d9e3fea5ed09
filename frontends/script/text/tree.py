"""The lines of a network as a tree: what lies under one path, one behind the other, is a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

from npuc.frontends.dsl.naming import OWN
from npuc.frontends.dsl.syntax import Name, walk
from npuc.frontends.script.text.flat import Flat, FlatLine


@dataclass(frozen=True, eq=False)
class Leaf:
    """A line at its place in the network; `path` is the layer's name below its group."""

    place: int
    path: tuple[str, ...]
    line: FlatLine


@dataclass(frozen=True, eq=False)
class Group:
    """The items under a path, which take the places `first` to before `last`."""

    path: tuple[str, ...]
    items: tuple[Item, ...]
    first: int
    last: int

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The lines inside, in their order."""
        found: list[Leaf] = []
        for item in self.items:
            found.extend([item] if isinstance(item, Leaf) else item.leaves)
        return tuple(found)


Item: TypeAlias = Leaf | Group
_MANY = 5
"""So many lines under the name of a layer, with it, are a group."""


class Values:
    """Where each value of a network is made and used, and which paths there are."""

    def __init__(self, network: Flat, whole: Group):
        self._layers = {line.layer: place for place, line in enumerate(network.lines)}
        self._groups = Counter(".".join(group.path) for group in _groups(whole))
        self._made = {target: place for place, line in enumerate(network.lines) for target in line.targets}
        self.places = len(network.lines)
        self._last_use: dict[str, int] = {}
        for place, line in enumerate(network.lines):
            for node in walk(line.value):
                if isinstance(node, Name):
                    self._last_use[node.text] = place
        for node in walk(*network.results):
            if isinstance(node, Name):
                self._last_use[node.text] = len(network.lines)

    def shares_path(self, group: Group) -> bool:
        """Whether the path of a group is also that of another group, or of a layer outside."""
        path = ".".join(group.path)
        place = self._layers.get(path, group.first)
        return self._groups[path] > 1 or not group.first <= place < group.last

    def last_use(self, name: str) -> int:
        """The place of the last line that uses a value, or one behind all for what the network returns."""
        return self._last_use.get(name, -1)

    def operands(self, item: Item) -> tuple[str, ...]:
        """The values from outside that an item uses, in the order of their first use."""
        first = item.place if isinstance(item, Leaf) else item.first
        found: dict[str, None] = {}
        for leaf in (item,) if isinstance(item, Leaf) else item.leaves:
            for node in walk(leaf.line.value):
                if isinstance(node, Name) and self._made.get(node.text, -1) < first:
                    found[node.text] = None
        return tuple(found)

    def results(self, item: Item) -> tuple[str, ...]:
        """The values that an item makes and something behind it uses."""
        if isinstance(item, Leaf):
            return item.line.targets
        made = (target for leaf in item.leaves for target in leaf.line.targets)
        return tuple(target for target in made if self.last_use(target) >= item.last)


def _groups(group: Group) -> Iterator[Group]:
    yield group
    for item in group.items:
        if isinstance(item, Group):
            yield from _groups(item)


def tree(network: Flat) -> Group:
    """The whole network as a group."""
    numbered = [(place, tuple(line.layer.split(".")), line) for place, line in enumerate(network.lines)]
    return Group((), _items(numbered, ()), 0, len(numbered))


_Placed: TypeAlias = tuple[int, tuple[str, ...], FlatLine]


def _items(lines: Sequence[_Placed], prefix: tuple[str, ...]) -> tuple[Item, ...]:
    """The items of a group; few lines under the name of a layer stand beside it."""
    depth = len(prefix)
    beside = _beside(lines, depth)

    def key(line: _Placed) -> str | int:
        place, path, _ = line
        return place if len(path) == depth or path[depth] in beside else path[depth]

    items: list[Item] = []
    for component, found in groupby(lines, key):
        run = list(found)
        if isinstance(component, int) or len(run) == 1:
            items.extend(Leaf(place, path[depth:] or (OWN,), line) for place, path, line in run)
            continue
        below = (*prefix, component)
        items.append(Group(below, _items(run, below), run[0][0], run[-1][0] + 1))
    return tuple(items)


def _beside(lines: Sequence[_Placed], depth: int) -> set[str]:
    """The names of layers under which there are not so many lines that they are a group with the layer."""
    layers = {path[depth] for _, path, _ in lines if len(path) == depth + 1}
    places: dict[str, list[int]] = {name: [] for name in layers}
    for place, path, _ in lines:
        if len(path) > depth and path[depth] in layers:
            places[path[depth]].append(place)
    return {name for name, found in places.items() if len(found) < _MANY or found[-1] - found[0] >= len(found)}
