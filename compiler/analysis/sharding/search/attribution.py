"""
Attribution of a plan's communication to its layer groups, and the cost of their next best type sequences.

A cost term of one layer group belongs to it, one of two to the consumer, so that the parts of all groups add up to the
communication of the plan.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np

from npuc.compiler.analysis.sharding.cost.cost_terms import CostTerm, EdgeRate, Rate, Sizes, TypeSequence
from npuc.compiler.analysis.sharding.cost.paper_terms import InterLayerRate, IntraLayerRate
from npuc.compiler.analysis.sharding.cost.resharding import Amounts
from npuc.compiler.analysis.sharding.graph.edges import PlanEdges, is_data
from npuc.compiler.analysis.sharding.graph.layer_groups import PlanGraph
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.reference.strategies import rule_of
from npuc.compiler.analysis.sharding.search.least_movement import (
    MOST_LEVELS_ON_GRAPHS,
    candidate_types,
    canonical_sequences,
    elements_of,
    graph_of,
    labels_of,
)
from npuc.compiler.analysis.sharding.search.planning import Planned, bytes_of, terms_of
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table, plus, times
from npuc.compiler.analysis.solvers.choices.minimise import marginals, minimise
from npuc.dialects.train.signature import ArgumentKind

What = Literal["weight_gradients", "outputs", "input_gradients", "weights", "forward", "gradient"]
"""
Sums of weights' gradients, of outputs and of inputs' gradients; weights, values and gradients that change their form.
"""
GRADIENTS: tuple[What, ...] = ("weight_gradients", "input_gradients", "gradient")
SUMS: dict[PartitionType, What] = {"I": "weight_gradients", "II": "outputs", "III": "input_gradients"}
MOST_COMPARED = 1 << 10
"""The most type sequences of a layer that are compared with all else as planned; beyond, those of the search."""


@dataclass(frozen=True)
class MovementPart:
    """
    Elements that a node moves at each level, all pairs of groups together, their bytes in all, and the node that they
    come from.
    """

    what: What
    producer: int | None
    levels: tuple[Fraction, ...]
    bytes: Fraction

    @property
    def elements(self) -> Fraction:
        """The sum over the levels."""
        return sum(self.levels, start=Fraction(0))


@dataclass(frozen=True)
class Other:
    """
    Another pattern of a node: what the whole plan then moves in elements, and what no such plan goes below; its bytes,
    where they are known.
    """

    sequence: TypeSequence
    elements: Fraction
    bound: Fraction
    bytes: Fraction | None


@dataclass(frozen=True)
class Side:
    """A cost term from the side of one layer group: its index, and the other group's type sequence, if any."""

    rate: Rate
    place: int
    other: TypeSequence | None


class Explainer:
    """What there is to say of a plan of a network; `float_bytes` are those of every float, where a machine says."""

    def __init__(self, graph: PlanGraph, edges: PlanEdges, planned: Planned, float_bytes: int | None = None):
        self.graph = graph
        self.planned = planned
        self.sizes: Sizes = planned.sizes
        self.float_bytes = float_bytes
        self.terms = terms_of(graph, edges, planned.convention)
        self.bytes = self.bytes_of(planned.sequences)
        self.free = rule_of(planned.strategy, planned.convention).all_free()
        self._touching: list[list[CostTerm]] = [[] for _ in graph.groups]
        for term in self.terms:
            for group in term.groups:
                self._touching[group].append(term)
        self._rows: dict[tuple[Side, tuple[PartitionType, ...], TypeSequence], Table] = {}
        self._others: dict[Hashable, tuple[int, TypeSequence] | None] = {}

    def parts(self, group: int) -> list[MovementPart]:
        """The nonzero parts of a layer group's communication, by kind and origin."""
        found: dict[tuple[What, int | None], list[int]] = {}
        sizes: dict[tuple[What, int | None], int] = {}
        for term in self._touching[group]:
            if term.groups[-1] != group:
                continue
            producer = term.groups[0] if len(term.groups) > 1 else None
            for what, amounts in self._split(term):
                levels = found.setdefault((what, producer), [0] * len(self.sizes))
                levels[:] = [a + term.elements * b for a, b in zip(levels, amounts, strict=True)]
                own = term.elements * sum(amounts) * self._width(term.value, what)
                sizes[what, producer] = sizes.get((what, producer), 0) + own
        return [
            MovementPart(
                what,
                producer,
                tuple(elements_of(amount, self.sizes) for amount in levels),
                elements_of(sizes[what, producer], self.sizes),
            )
            for (what, producer), levels in found.items()
            if any(levels)
        ]

    def sources(self) -> list[MovementPart]:
        """The communication of all layer groups by kind, largest first."""
        found: dict[What, list[MovementPart]] = {}
        for group in range(len(self.graph.groups)):
            for part in self.parts(group):
                found.setdefault(part.what, []).append(part)
        zero = Fraction(0)
        sums = [
            MovementPart(
                what,
                None,
                tuple(sum(column, start=zero) for column in zip(*(part.levels for part in own), strict=True)),
                sum((part.bytes for part in own), start=zero),
            )
            for what, own in found.items()
        ]
        return sorted(sums, key=lambda part: -part.elements)

    def _split(self, term: CostTerm) -> list[tuple[What, Amounts]]:
        """What one element of a term moves, by what it is."""
        sequences = tuple(self.planned.sequences[group] for group in term.groups)
        rate = term.rate
        whole = rate.amounts(sequences, self.sizes)
        if isinstance(rate, IntraLayerRate):
            return [(SUMS[rate.type], whole)]
        if isinstance(rate, InterLayerRate):
            forward = rate.forward(sequences, whole) if rate.active else whole
            return [("forward", forward), ("gradient", _minus(whole, forward))]
        if not isinstance(rate, EdgeRate):
            back = rate.gradient(sequences, self.sizes)
            return [("outputs", _minus(whole, back)), ("gradient", back)]
        there, back, summed = rate.split(sequences, self.sizes)
        if is_data(self.graph, term.value):
            return [("forward", there), ("gradient", back), ("input_gradients", summed)]
        return [("weights", there), ("weight_gradients", tuple(a + b for a, b in zip(back, summed, strict=True)))]

    def best_other(self, group: int) -> Other | None:
        """The best other type sequence of a layer group with all else as planned; None where it has no other."""
        now, types = self.planned.sequences[group], candidate_types(self.graph.groups[group], self.free)
        sides = tuple((self._side(term, group), term.elements) for term in self._touching[group])
        # many layer groups of a network are equal
        key = now, types, sides
        if key not in self._others:
            self._others[key] = self._best_alone(now, types, sides)
        if (best := self._others[key]) is None:
            return None
        more, sequence = best
        elements = self.planned.total + elements_of(more, self.sizes)
        sequences = [sequence if n == group else own for n, own in enumerate(self.planned.sequences)]
        touching = self._touching[group]
        change = self.bytes_of(sequences, touching) - self.bytes_of(self.planned.sequences, touching)
        return Other(sequence, elements, elements, self.bytes + change)

    def _side(self, term: CostTerm, group: int) -> Side:
        place = term.groups.index(group)
        other = next((self.planned.sequences[n] for n in term.groups if n != group), None)
        return Side(term.rate, place, other)

    def _best_alone(
        self, now: TypeSequence, types: tuple[PartitionType, ...], sides: Sequence[tuple[Side, int]]
    ) -> tuple[int, TypeSequence] | None:
        """The best other type sequence and its extra communication, in the units of `resharding.py`."""
        sequences = self._sequences(types)
        costs: Table = np.zeros(len(sequences) + 1, np.int64)
        for side, elements in sides:
            costs = plus(costs, times(self._row(side, types, now), elements))
        *others, present = costs.tolist()
        found = [(cost, n) for n, (cost, sequence) in enumerate(zip(others, sequences, strict=True)) if sequence != now]
        if not found:
            return None
        cost, number = min(found)
        return cost - present, sequences[number]

    def _row(self, side: Side, types: tuple[PartitionType, ...], now: TypeSequence) -> Table:
        """The communication per element by the type sequences of a layer group, the present one last."""
        key = side, types, now
        if key not in self._rows:
            rest = () if side.other is None else (side.other,)
            sequences = [*self._sequences(types), now]
            pairs = [(own, *rest) if side.place == 0 else (*rest, own) for own in sequences]
            self._rows[key] = np.array([sum(side.rate.amounts(pair, self.sizes)) for pair in pairs])
        return self._rows[key]

    def _sequences(self, types: Sequence[PartitionType]) -> list[TypeSequence]:
        if len(types) ** len(self.sizes) > MOST_COMPARED:
            return canonical_sequences(types, len(self.sizes))
        return list(product(types, repeat=len(self.sizes)))

    def is_narrow(self) -> bool:
        """Whether `best_adapted` is exact, and for all layer groups together as fast as the plan search."""
        return self._marginals is not None

    @cached_property
    def _marginals(self) -> list[Table] | None:
        """The least communication of a plan by each group's type sequence; None where the graph is too wide."""
        return None if self._choices is None else marginals(self._choices[1])

    def best_adapted(self, group: int, *, whole: bool = False) -> Other | None:
        """
        The best plan in which a layer group has another type sequence and all else adapts; None without one, or where
        they are too many.

        Its bytes are known where all tensors are of one width; if the plan is to be found as a `whole`, always.

        With two types only the number of levels of each counts: their order changes nothing where all else adapts.
        """
        if self._choices is None:
            return None
        labels, graph = self._choices
        now = sorted(self.planned.sequences[group])
        three = self.free.has_outputs
        kept = [
            number
            for number, label in enumerate(labels[group])
            if (label != self.planned.sequences[group] if three else sorted(label) != now)
        ]
        if not kept:
            return None
        if self._marginals is not None and (self._one_width is not None or not whole):
            costs = self._marginals[group][np.array(kept)]
            number = int(costs.argmin())
            elements = elements_of(costs.item(number), self.sizes)
            size = None if self._one_width is None else elements * self._one_width
            return Other(labels[group][kept[number]], elements, elements, size)
        result = minimise(_restricted(graph, group, kept))
        sequence = labels[group][kept[result.choice[group]]]
        sequences = [
            sequence if n == group else own[label]
            for n, (own, label) in enumerate(zip(labels, result.choice, strict=True))
        ]
        elements, bound = elements_of(result.cost, self.sizes), elements_of(result.bound, self.sizes)
        return Other(sequence, elements, bound, self.bytes_of(sequences))

    def bytes_of(self, sequences: Sequence[TypeSequence], terms: Sequence[CostTerm] | None = None) -> Fraction:
        """What a plan moves in bytes, one direction: by all terms, or by some."""
        return bytes_of(self.graph, self.terms if terms is None else terms, sequences, self.sizes, self.float_bytes)

    def _width(self, value: int, what: What) -> int:
        """The bytes of an element of a value or its gradient."""
        own = self.graph.program.values[value]
        return (own.gradient() if what in GRADIENTS else own).element_bytes(self.float_bytes)

    @cached_property
    def _one_width(self) -> int | None:
        """The bytes of an element of all that a plan may move; None where tensors differ."""
        values = self.graph.program.values
        # an input is given in any form
        moved = [values[t.value] for t in self.terms if values[t.value].argument is not ArgumentKind.INPUT]
        widths = {own.element_bytes(self.float_bytes) for value in moved for own in (value, value.gradient())}
        return widths.pop() if len(widths) == 1 else None

    @cached_property
    def _choices(self) -> tuple[list[list[TypeSequence]], Choices] | None:
        """The candidate type sequences of all layer groups; None where they are too many."""
        if self.free.has_outputs and len(self.sizes) > MOST_LEVELS_ON_GRAPHS:
            return None
        labels = labels_of(self.graph.groups, self.free, self.sizes)
        return labels, graph_of(self.terms, labels, self.sizes)


def _restricted(graph: Choices, group: int, kept: Sequence[int]) -> Choices:
    """A choice graph with only some labels of one layer group."""
    sizes = [len(kept) if n == group else size for n, size in enumerate(graph.sizes)]
    unary = [table[np.array(kept)] if n == group else table for n, table in enumerate(graph.unary)]
    pairs = {
        (i, j): table.take(kept, axis=0 if i == group else 1) if group in (i, j) else table
        for (i, j), table in graph.pairs.items()
    }
    return Choices(sizes, unary, pairs)


def _minus(a: Amounts, b: Amounts) -> Amounts:
    return tuple(x - y for x, y in zip(a, b, strict=True))
