"""
Groups without their numbers: those of one skeleton are calls of one block.

A skeleton is what a group does with its operands, with a hole for each number, string, boolean or none. Neighbours that
are numbered one after the other, of one skeleton and equal holes, each on the result of the one before, are a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from npuc.frontends.dsl.syntax import Call, Expr, Index, ListOf, Literal, Name, Operation, Unary
from npuc.frontends.script.text.calls import filled, parameters_of
from npuc.frontends.script.text.patterns import (
    Applied,
    BlockCall,
    Constant,
    Entry,
    Fixed,
    Gap,
    Hole,
    Listed,
    Made,
    Operand,
    Pattern,
    Picked,
    Repeat,
    Skeleton,
    Step,
    Value,
)
from npuc.frontends.script.text.sizes import Size
from npuc.frontends.script.text.tree import Group, Item, Leaf, Values

_LISTED = 8
"""The most numbers of a list that are holes; longer ones, as of a constant tensor, are part of the skeleton."""


@dataclass(frozen=True)
class Coded:
    """A group as its skeleton, its holes, and the values that it takes and makes."""

    skeleton: Skeleton
    holes: tuple[Hole, ...]
    operands: tuple[str, ...]
    results: tuple[str, ...]


class Skeletons:
    """The skeletons of the groups of a network, each before those that call it."""

    def __init__(self, values: Values, sizes: Mapping[Literal, Size], depth: str | None = None):
        """`sizes` are the numbers that follow from network parameters; `depth` is that of loops, if there is one."""
        self.values = values
        self.sizes = sizes
        self.depth = depth
        self.found: dict[object, Skeleton] = {}

    def only_loop(self) -> tuple[str, int] | None:
        """The name and the number of calls of a loop that is most of the network; None if there is none."""
        loops = [(s, e) for s in self.found.values() for e in s.entries if isinstance(e, Repeat)]
        if len(loops) != 1 or len(loops[0][0].columns) != 1:
            return None
        skeleton, repeat = loops[0]
        if 2 * (skeleton.group.last - skeleton.group.first) < self.values.places:
            return None
        hole = skeleton.columns[0][repeat.stop.number]
        return (hole.role, hole.value) if isinstance(hole.value, int) else None

    def code(self, group: Group) -> Coded:
        """A group as its skeleton and holes, those inside first."""
        coder = _Coder(self, group)
        coder.run()
        key = (len(coder.operands), tuple(coder.entries), coder.results)
        skeleton = self.found.get(key)
        if skeleton is None:
            skeleton = Skeleton(len(coder.operands), key[1], coder.results, group, coder.operands)
            self.found[key] = skeleton
        holes = tuple(coder.holes)
        skeleton.columns.append(holes)
        return Coded(skeleton, holes, coder.operands, self.values.results(group))


class _Coder:
    """One run over a group."""

    def __init__(self, skeletons: Skeletons, group: Group):
        self.skeletons = skeletons
        self.group = group
        self.operands = skeletons.values.operands(group)
        self.numbers: dict[str, Value] = {name: Operand(k) for k, name in enumerate(self.operands)}
        self.entries: list[Entry] = []
        self.holes: list[Hole] = []
        self.results: tuple[Value, ...] = ()
        self._made = 0

    def run(self) -> None:
        items = list(self.group.items)
        coded = [self.skeletons.code(item) if isinstance(item, Group) else None for item in items]
        k = 0
        while k < len(items):
            length = self._repeats(items, coded, k)
            item, own = items[k], coded[k]
            if isinstance(item, Leaf):
                self._leaf(item)
            elif own is not None and length > 1:
                self._loop(item, [one for one in coded[k : k + length] if one is not None])
            elif own is not None:
                self._part(item, own)
            k += length
        self.results = tuple(self.numbers[name] for name in self.skeletons.values.results(self.group))

    # items

    def _leaf(self, leaf: Leaf) -> None:
        value = self._pattern(leaf.line.value, "", leaf)
        self.entries.append(Step(leaf.path, tuple(map(self._make, leaf.line.targets)), value))

    def _part(self, group: Group, coded: Coded) -> None:
        operands = tuple(self.numbers[name] for name in coded.operands)
        results = tuple(map(self._make, coded.results))
        shares = self.skeletons.values.shares_path(group)
        self.entries.append(BlockCall(group.path[-1], shares, coded.skeleton, operands, results, len(self.holes)))
        self.holes.extend(coded.holes)

    def _loop(self, group: Group, calls: Sequence[Coded]) -> None:
        start = int(group.path[-1])
        container = group.path[-2] if len(group.path) > 1 else ""
        role = container if container.isalpha() and container.endswith("s") else "depth"
        stop = Gap(len(self.holes))
        depth = self.skeletons.depth
        self.holes.append(Hole(start + len(calls) if depth is None else Size(depth), role, container))
        first, second = calls[0], calls[1]
        carried = second.operands.index(first.results[0])
        operands = tuple(self.numbers[name] for name in first.operands)
        result = self._make(calls[-1].results[0])
        self.entries.append(Repeat(start, stop, first.skeleton, operands, carried, result, len(self.holes)))
        self.holes.extend(first.holes)

    def _make(self, name: str) -> Made:
        made = Made(self._made)
        self.numbers[name] = made
        self._made += 1
        return made

    def _repeats(self, items: Sequence[Item], coded: Sequence[Coded | None], k: int) -> int:
        """How many items from the k-th on are one loop."""
        length = 1
        while k + length < len(items) and self._follows(items, coded, k, k + length):
            length += 1
        return length

    def _follows(self, items: Sequence[Item], coded: Sequence[Coded | None], first: int, k: int) -> bool:
        """Whether the k-th item continues the loop that begins with the first."""
        before, item = items[k - 1], items[k]
        one, other, head = coded[k - 1], coded[k], coded[first]
        if not isinstance(before, Group) or not isinstance(item, Group) or one is None or other is None or head is None:
            return False
        if not before.path[-1].isdigit() or item.path[-1] != str(int(before.path[-1]) + 1):
            return False
        if other.skeleton is not head.skeleton or not _equal(other.holes, head.holes):
            return False
        if len(one.results) != 1 or len(other.results) != 1 or one.results[0] not in other.operands:
            return False
        if self.skeletons.values.last_use(one.results[0]) >= item.last:
            return False
        carried = other.operands.index(one.results[0])
        if self._carried([call for call in coded[first : k + 1] if call is not None]) != carried:
            return False
        pairs = enumerate(zip(head.operands, other.operands, strict=True))
        return all(a == b for place, (a, b) in pairs if place != carried)

    def _carried(self, calls: Sequence[Coded]) -> int | None:
        """The place of the operand that is the result of the call before, if it is the same in all calls."""
        places = {call.operands.index(before.results[0]) for before, call in pairwise(calls)}
        return places.pop() if len(places) == 1 else None

    # expressions

    def _pattern(self, expr: Expr, role: str, leaf: Leaf, default: Literal | None = None) -> Pattern:
        match expr:
            case Name():
                return self.numbers[expr.text]
            case Literal():
                return self._hole(self.skeletons.sizes.get(expr, expr.value), role, leaf, default)
            case Unary(operand=Literal(value=int() | float() as value), operator="-"):
                return self._hole(-value, role, leaf, default)
            case ListOf():
                literals = [item for item in expr.items if isinstance(item, Literal)]
                if len(literals) == len(expr.items) > _LISTED and not self.skeletons.sizes.keys() & set(literals):
                    return Fixed(tuple((type(item.value).__name__, item.value) for item in literals))
                return Listed(tuple(self._pattern(item, role, leaf) for item in expr.items))
            case Call():
                defaults = {p.name: p.default for p in parameters_of(expr.function)}
                arguments = tuple(
                    (name, self._pattern(value, name, leaf, defaults[name])) for name, value in filled(expr).items()
                )
                return Applied(expr.function, arguments, expr.frozen)
            case Index(index=Literal(value=int() as index)):
                return Picked(self._pattern(expr.sequence, role, leaf), index)
            case Operation() | _:
                raise AssertionError(f"a graph writes no {type(expr).__name__}")

    def _hole(self, value: Constant, role: str, leaf: Leaf, default: Literal | None) -> Gap:
        self.holes.append(Hole(value, role, leaf.path[-1], default))
        return Gap(len(self.holes) - 1)


def _equal(a: Sequence[Hole], b: Sequence[Hole]) -> bool:
    return [hole.key for hole in a] == [hole.key for hole in b]
