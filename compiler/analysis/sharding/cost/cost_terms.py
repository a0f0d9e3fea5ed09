"""
The communication of a plan as a sum of cost terms, each a function of the type sequences of one or two layer groups.

A plan gives each layer group a type sequence: its partition type at each mesh level. A cost term is a number of
elements times a rate, which is what one element moves at each level under given sequences, in the units of
`resharding.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from npuc.compiler.analysis.sharding.cost.resharding import (
    Amounts,
    Layout,
    Reshard,
    reduce_amounts,
    reshard_amounts,
    scatter_amounts,
)
from npuc.compiler.analysis.sharding.graph.edges import TYPE_NUMBER, Edge, PlanEdges
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.graph.placement import NO_TYPES, UNSHARDED, AxisByType
from npuc.compiler.analysis.sharding.graph.tasks import Value
from npuc.compiler.layers.base import Combine

TypeSequence = tuple[PartitionType, ...]
"""The partition type of a layer group at each mesh level, outermost first."""
Sizes = tuple[int, ...]


class Rate(Protocol):
    """The communication per element. Rates are hashable, since many cost terms share one."""

    def amounts(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """The amount at each level, if the layer groups have these type sequences."""
        ...

    def gradient(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """The part of these amounts that is communication of the tensor's gradient."""
        ...


@dataclass(frozen=True)
class CostTerm:
    """`elements` of the tensor `value` (by number), the layer groups that it depends on, the rate, and the reason."""

    value: int
    elements: int
    groups: tuple[int, ...]
    rate: Rate
    what: str

    def amounts(self, plan: Sequence[TypeSequence], sizes: Sizes) -> Amounts:
        """The amount at each level under a plan, a type sequence for each layer group."""
        rate = self.rate.amounts(tuple(plan[group] for group in self.groups), sizes)
        return tuple(self.elements * amount for amount in rate)

    def bytes(
        self, values: Sequence[Value], plan: Sequence[TypeSequence], sizes: Sizes, float_bytes: int | None
    ) -> int:
        """
        The amount at all levels times bytes per element, of value and gradient each in its own type; `float_bytes` per
        float, if the machine says so.
        """
        sequences, value = tuple(plan[group] for group in self.groups), values[self.value]
        width, back = (own.element_bytes(float_bytes) for own in (value, value.gradient()))
        moved = width * sum(self.rate.amounts(sequences, sizes))
        if back != width:
            moved += (back - width) * sum(self.rate.gradient(sequences, sizes))
        return self.elements * moved


def layout_of(axes: AxisByType, sequence: TypeSequence) -> Layout:
    """The layout of a value with these axes by type, in a layer group with that type sequence."""
    return tuple(axes[TYPE_NUMBER[type]] for type in sequence)


@dataclass(frozen=True)
class EdgeRate:
    """
    The rate of an edge: the reshard from the producer's layout to the consumer's, with its gradient if it is `active`.

    Fields are those of `Edge`. A side without a layer group has the value whole at every level.
    """

    produced: AxisByType
    required: AxisByType
    partial_gradient: tuple[bool, ...]
    active: bool
    has_maker: bool
    has_reader: bool
    scatter_gradient: bool = False
    deferred_gradient: tuple[bool, ...] = NO_TYPES
    partial_value: tuple[bool, ...] = NO_TYPES

    def amounts(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """The sequences are the producer's and the consumer's; one if both are the same group or one is None."""
        return _reading(self, *self.sides(sequences, sizes), sizes)

    def gradient(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """The amounts that go back, and those of reductions."""
        _, *rest = self.split(sequences, sizes)
        return tuple(map(sum, zip(*rest, strict=True)))

    def split(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> tuple[Amounts, Amounts, Amounts]:
        """The amounts in three parts: forward, the gradient back, and the reduction of partial gradients."""
        there, *rest = reshard_amounts(self.reshard(*self.sides(sequences, sizes)), sizes)
        back, sums = rest if self.active else [(0,) * len(sizes)] * 2
        return there, back, sums

    def sides(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> tuple[TypeSequence, TypeSequence]:
        """The producer's type sequence and the consumer's."""
        whole: TypeSequence = ("whole",) * len(sizes)
        return sequences[0] if self.has_maker else whole, sequences[-1] if self.has_reader else whole

    def reshard(self, producer: TypeSequence, consumer: TypeSequence) -> Reshard:
        """The reshard from the producer's layout to the consumer's."""
        return Reshard(
            layout_of(self.produced, producer),
            layout_of(self.required, consumer),
            levels_where(self.partial_gradient, consumer) if self.active else (),
            levels_where(self.deferred_gradient, producer) if self.active else (),
            levels_where(self.partial_value, consumer),
            self.scatter_gradient,
        )


@lru_cache(maxsize=1 << 18)
def _reading(rate: EdgeRate, producer: TypeSequence, consumer: TypeSequence, sizes: Sizes) -> Amounts:
    rows = reshard_amounts(rate.reshard(producer, consumer), sizes)
    return tuple(map(sum, zip(*rows, strict=True))) if rate.active else rows[0]


def levels_where(types: tuple[bool, ...], sequence: TypeSequence) -> tuple[int, ...]:
    """The levels at which a type sequence has one of the flagged types."""
    return tuple(h for h, type in enumerate(sequence) if types[TYPE_NUMBER[type]])


@dataclass(frozen=True)
class ReductionRate:
    """
    The rate of a reduction: by type, the sharded axis and how partial sums combine.

    A second layer group takes the partial sums under its types `deferred`; at those levels nothing is reduced yet.
    Under the types that `scatters` has an axis for, each device gets its part of the sum, and the gradient, if the
    value is `active`, is gathered.
    """

    produced: AxisByType
    adds: tuple[Combine | None, ...]
    deferred: tuple[bool, ...] = NO_TYPES
    scatters: AxisByType = UNSHARDED
    active: bool = False

    def amounts(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """The sequences are those of the group that produces the partial sums, and of the one that may take them."""
        producer, *_ = sequences
        layout = layout_of(self.produced, producer)
        rows = [reduce_amounts(layout, levels, sizes) for levels in self.levels(sequences)]
        rows += [scatter_amounts(layout, self.scattered(producer), sizes), self.gradient(sequences, sizes)]
        return tuple(map(sum, zip(*rows, strict=True)))

    def gradient(self, sequences: tuple[TypeSequence, ...], sizes: Sizes) -> Amounts:
        """The gathers of the gradient of what is scattered; every device has the gradient of another sum already."""
        producer, *_ = sequences
        levels = self.scattered(producer) if self.active else ()
        return scatter_amounts(layout_of(self.produced, producer), levels, sizes)

    def scattered(self, producer: TypeSequence) -> tuple[int, ...]:
        """The levels at which partial sums are scattered."""
        return tuple(h for h, type in enumerate(producer) if self.scatters[TYPE_NUMBER[type]] is not None)

    def levels(self, sequences: tuple[TypeSequence, ...]) -> list[tuple[int, ...]]:
        """The levels of each all-reduce: of partial sums that are added, and of those whose mean is taken."""
        producer, *consumer = sequences
        deferred = levels_where(self.deferred, consumer[0]) if consumer else ()
        others = (*deferred, *self.scattered(producer))
        found = [
            tuple(h for h, type in enumerate(producer) if self.adds[TYPE_NUMBER[type]] is how and h not in others)
            for how in Combine
        ]
        return [levels for levels in found if levels]


def rate_of(edge: Edge) -> EdgeRate:
    """The rate of an edge."""
    return EdgeRate(
        edge.produced,
        edge.required,
        edge.partial_gradient,
        edge.active,
        edge.producer is not None,
        edge.consumer is not None,
        edge.scatter_gradient,
        edge.deferred_gradient,
        edge.partial_value,
    )


def physical_terms(edges: PlanEdges) -> list[CostTerm]:
    """The cost terms of the convention `physical`: the communication of the lowered program."""
    found: list[CostTerm] = []
    for edge in edges.reads:
        groups = tuple(dict.fromkeys(group for group in (edge.producer, edge.consumer) if group is not None))
        found.append(CostTerm(edge.value, edge.elements, groups, rate_of(edge), "read"))
    for own in edges.reductions:
        groups = (own.group,) if own.deferred_to is None else (own.group, own.deferred_to)
        rate = ReductionRate(own.produced, own.adds, own.deferred, own.scatters, own.active)
        found.append(CostTerm(own.value, own.elements, groups, rate, "sum"))
    return found
