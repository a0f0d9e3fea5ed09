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

from npuc.compiler.analysis.parallel.flows import NUMBER, ByWay, Flows
from npuc.compiler.analysis.parallel.moves import Amounts, Form, moved, summed
from npuc.compiler.analysis.parallel.ways import Way
from npuc.compiler.layers.base import Combine

Pattern = tuple[Way, ...]
"""The way of a node at each level, from the top."""
Sizes = tuple[int, ...]


class Rate(Protocol):
    """What one element moves. Rates are hashable: many terms share one."""

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """At each level, if the term's nodes have these patterns."""
        ...


@dataclass(frozen=True)
class Term:
    """`elements` of the tensor `value` (by number), the nodes on whose patterns it depends, the rate, and why."""

    value: int
    elements: int
    nodes: tuple[int, ...]
    rate: Rate
    what: str

    def amounts(self, plan: Sequence[Pattern], sizes: Sizes) -> Amounts:
        """What the term moves at each level under a plan: a pattern for each node."""
        rate = self.rate.amounts(tuple(plan[node] for node in self.nodes), sizes)
        return tuple(self.elements * amount for amount in rate)


def form_of(axes: ByWay, pattern: Pattern) -> Form:
    """The form of a value whose axes by way are known, for a node with that pattern."""
    return tuple(axes[NUMBER[way]] for way in pattern)


@dataclass(frozen=True)
class ReadingRate:
    """
    A reader's form from a maker's; where the reader's work is cut but the value is read whole, its gradient is a sum.

    A side that is no node has the value whole at every level.
    """

    made: ByWay
    needed: ByWay
    shared: tuple[bool, ...]
    active: bool
    has_maker: bool
    has_reader: bool
    scattered: bool = False

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """The patterns are the maker's and the reader's; one pattern if both are the same node, or one is none."""
        return _reading(self, *self.sides(patterns, sizes), sizes)

    def sides(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> tuple[Pattern, Pattern]:
        """The maker's pattern and the reader's."""
        whole: Pattern = ("whole",) * len(sizes)
        return patterns[0] if self.has_maker else whole, patterns[-1] if self.has_reader else whole


@lru_cache(maxsize=1 << 18)
def _reading(rate: ReadingRate, maker: Pattern, reader: Pattern, sizes: Sizes) -> Amounts:
    target = form_of(rate.needed, reader)
    source = form_of(rate.made, maker)
    amounts = moved(source, target, sizes, back=rate.active, scattered=rate.scattered)
    if not rate.active:
        return amounts
    levels = shared_levels(rate.shared, reader, source if rate.scattered else None)
    return tuple(a + b for a, b in zip(amounts, summed(target, levels, sizes), strict=True))


def shared_levels(shared: tuple[bool, ...], reader: Pattern, scattered: Form | None = None) -> tuple[int, ...]:
    """
    The levels at which a reader's work is cut though the value is read whole, so that its gradient is a sum.

    `scattered` is the form of a value whose gradient is reduced and scattered where that form is cut.
    """
    levels = [h for h, way in enumerate(reader) if shared[NUMBER[way]]]
    return tuple(h for h in levels if scattered is None or scattered[h] is None)


@dataclass(frozen=True)
class SumRate:
    """Addends that become one sum or mean: the axes by way that are cut, and how addends of each way add."""

    made: ByWay
    adds: tuple[Combine | None, ...]

    def amounts(self, patterns: tuple[Pattern, ...], sizes: Sizes) -> Amounts:
        """The pattern is that of the node that makes the addends."""
        (pattern,) = patterns
        form = form_of(self.made, pattern)
        rows = [summed(form, levels, sizes) for levels in self.levels(pattern)]
        return tuple(map(sum, zip(*rows, strict=True))) if rows else (0,) * len(sizes)

    def levels(self, pattern: Pattern) -> list[tuple[int, ...]]:
        """The levels of each sum that a pattern takes: addends that are summed, and those whose mean is taken."""
        found = [tuple(h for h, way in enumerate(pattern) if self.adds[NUMBER[way]] is how) for how in Combine]
        return [levels for levels in found if levels]


def physical_terms(flows: Flows) -> list[Term]:
    """The terms of the convention `physical`: what the lowered program moves."""
    found: list[Term] = []
    for reading in flows.readings:
        maker, reader = reading.maker, reading.reader
        sides = maker is not None, reader is not None
        rate = ReadingRate(
            reading.made, reading.needed, reading.shared, reading.active, *sides, scattered=reading.scattered
        )
        nodes = tuple(dict.fromkeys(node for node in (maker, reader) if node is not None))
        found.append(Term(reading.value, reading.elements, nodes, rate, "read"))
    found += [Term(s.value, s.elements, (s.node,), SumRate(s.made, s.adds), "sum") for s in flows.sums]
    return found
