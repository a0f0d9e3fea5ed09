"""
What a plan moves as a sum of terms, each of the patterns of one or two nodes.

A plan gives each node a pattern: its way at each level. A term is a number of elements times a rate, which says for
patterns what one element moves at each level, in the units of `moves`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from npuc.compiler.analysis.sharding.cost.resharding import Amounts, Layout, Reshard, reduce_amounts, reshard_amounts
from npuc.compiler.analysis.sharding.graph.edges import TYPE_NUMBER, Flows, Reading
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.graph.placement import NO_TYPES, AxisByType
from npuc.compiler.analysis.sharding.graph.tasks import Value
from npuc.compiler.layers.base import Combine

Pattern = tuple[PartitionType, ...]
"""The way of a node at each level, from the top."""
Sizes = tuple[int, ...]


class Rate(Protocol):
    """What one element moves. Rates are hashable: many terms share one."""

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """At each level, if the term's nodes have these patterns."""
        ...

    def gradient(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """What of these amounts is of the tensor's gradient."""
        ...


@dataclass(frozen=True)
class Term:
    """`elements` of the tensor `value` (by number), the nodes on whose patterns it depends, the rate, and why."""

    value: int
    elements: int
    groups: tuple[int, ...]
    rate: Rate
    what: str

    def amounts(self, plan: Sequence[Pattern], sizes: Sizes) -> Amounts:
        """What the term moves at each level under a plan: a pattern for each node."""
        rate = self.rate.amounts(tuple(plan[group] for group in self.groups), sizes)
        return tuple(self.elements * amount for amount in rate)

    def bytes(self, values: Sequence[Value], plan: Sequence[Pattern], sizes: Sizes, float_bytes: int | None) -> int:
        """
        What it moves at all levels, in bytes for each of the units: value and gradient each in the type in which it
        moves; `float_bytes` are those of every float, where the machine says.
        """
        patterns, value = tuple(plan[group] for group in self.groups), values[self.value]
        width, back = (own.element_bytes(float_bytes) for own in (value, value.gradient()))
        moved = width * sum(self.rate.amounts(patterns, sizes))
        if back != width:
            moved += (back - width) * sum(self.rate.gradient(patterns, sizes))
        return self.elements * moved


def layout_of(axes: AxisByType, pattern: Pattern) -> Layout:
    """The form of a value whose axes by way are known, for a node with that pattern."""
    return tuple(axes[TYPE_NUMBER[type]] for type in pattern)


@dataclass(frozen=True)
class ReadingRate:
    """
    A reader's form from a maker's; where the reader's work is cut but the value is read whole, its gradient is a sum.

    `held` says by the maker's way where it keeps the gradient as addends, `added` by the reader's where it takes the
    value as addends. A side that is no node has the value whole at every level.
    """

    made: AxisByType
    needed: AxisByType
    shared: tuple[bool, ...]
    active: bool
    has_maker: bool
    has_reader: bool
    scattered: bool = False
    held: tuple[bool, ...] = NO_TYPES
    added: tuple[bool, ...] = NO_TYPES

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """The patterns are the maker's and the reader's; one pattern if both are the same node, or one is none."""
        return _reading(self, *self.sides(patterns, sizes), sizes)

    def gradient(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """What goes back, and the sums."""
        _, *rest = self.split(patterns, sizes)
        return tuple(map(sum, zip(*rest, strict=True)))

    def split(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> tuple[Amounts, Amounts, Amounts]:
        """The same in parts: there, the gradient back, and sums of the gradient's addends."""
        there, *rest = reshard_amounts(self.reshard(*self.sides(patterns, sizes)), sizes)
        back, sums = rest if self.active else [(0,) * len(sizes)] * 2
        return there, back, sums

    def sides(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> tuple[Pattern, Pattern]:
        """The maker's pattern and the reader's."""
        whole: Pattern = ("whole",) * len(sizes)
        return patterns[0] if self.has_maker else whole, patterns[-1] if self.has_reader else whole

    def reshard(self, maker: Pattern, reader: Pattern) -> Reshard:
        """The way that the value goes."""
        return Reshard(
            layout_of(self.made, maker),
            layout_of(self.needed, reader),
            levels_where(self.shared, reader) if self.active else (),
            levels_where(self.held, maker) if self.active else (),
            levels_where(self.added, reader),
            self.scattered,
        )


@lru_cache(maxsize=1 << 18)
def _reading(rate: ReadingRate, maker: Pattern, reader: Pattern, sizes: Sizes) -> Amounts:
    rows = reshard_amounts(rate.reshard(maker, reader), sizes)
    return tuple(map(sum, zip(*rows, strict=True))) if rate.active else rows[0]


def levels_where(types: tuple[bool, ...], pattern: Pattern) -> tuple[int, ...]:
    """The levels at which a pattern has one of some ways."""
    return tuple(h for h, type in enumerate(pattern) if types[TYPE_NUMBER[type]])


@dataclass(frozen=True)
class SumRate:
    """
    Addends that become one sum or mean: the axes by way that are cut, and how addends of each way add.

    A second pattern is that of a node that takes addends in the ways `later`: there nothing is summed yet.
    """

    made: AxisByType
    adds: tuple[Combine | None, ...]
    later: tuple[bool, ...] = NO_TYPES

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """The patterns are that of the node that makes the addends, and that of the one that may take them."""
        maker, *_ = patterns
        layout = layout_of(self.made, maker)
        rows = [reduce_amounts(layout, levels, sizes) for levels in self.levels(patterns)]
        return tuple(map(sum, zip(*rows, strict=True))) if rows else (0,) * len(sizes)

    def gradient(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """None: that of a sum is there already."""
        return (0,) * len(sizes)

    def levels(self, patterns: tuple[Pattern, ...]) -> list[tuple[int, ...]]:
        """The levels of each sum that is made: addends that are summed, and those whose mean is taken."""
        maker, *taker = patterns
        later = levels_where(self.later, taker[0]) if taker else ()
        found = [
            tuple(h for h, type in enumerate(maker) if self.adds[TYPE_NUMBER[type]] is how and h not in later)
            for how in Combine
        ]
        return [levels for levels in found if levels]


def rate_of(reading: Reading) -> ReadingRate:
    """What one element of a reading moves."""
    return ReadingRate(
        reading.made,
        reading.needed,
        reading.shared,
        reading.active,
        reading.maker is not None,
        reading.reader is not None,
        reading.scattered,
        reading.held,
        reading.added,
    )


def physical_terms(flows: Flows) -> list[Term]:
    """The terms of the convention `physical`: what the lowered program moves."""
    found: list[Term] = []
    for reading in flows.readings:
        groups = tuple(dict.fromkeys(group for group in (reading.maker, reading.reader) if group is not None))
        found.append(Term(reading.value, reading.elements, groups, rate_of(reading), "read"))
    for own in flows.sums:
        groups = (own.group,) if own.taker is None else (own.group, own.taker)
        found.append(Term(own.value, own.elements, groups, SumRate(own.made, own.adds, own.later), "sum"))
    return found
