"""
The types and shares of one pair of sides for the least time.

A pair takes for each layer group, and for each edge, the longer time of its two sides,

    layer group   work x share / speed + bytes of partial sums that are read / bandwidth
    edge          bytes that are read / bandwidth

since both wait for the slower side between operations. Candidate shares are those of a grid, one half, the ratio of the
speeds, and for each layer group and type the share that balances its two sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from npuc.compiler.analysis.sharding.graph.edges import TYPE_NUMBER
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType
from npuc.compiler.analysis.sharding.heterogeneous.fleet import Fleet
from npuc.compiler.analysis.sharding.heterogeneous.shares import Choice, LocalWork, Workload, crossing
from npuc.compiler.analysis.solvers.choices.graph import Choices, Table
from npuc.compiler.analysis.solvers.choices.minimise import MAX_TABLE, minimise_in
from npuc.compiler.analysis.solvers.choices.order import Order, best_order

Shares = tuple[Fraction, ...]
HALF = Fraction(1, 2)
GRID = 16
"""Shares that are looked at: 1/16 to 15/16."""
FINEST = 1000
"""A share that balances a layer group is rounded to a fraction with at most this denominator."""


MOST_WORK = 1 << 25
"""The most table entries of a search with shares; beyond, all layer groups of a pair have one share."""


@dataclass(frozen=True)
class Halves:
    """The sides of a pair, and a step that they share: what each side takes."""

    step: Workload
    fleet: Fleet

    def seconds(self, side: int, work: Table, elements: Table) -> tuple[Table, Table]:
        """The seconds of work at full speed, and of reading elements."""
        half = self.fleet.halves()[side]
        return work / float(half.speed), elements * (float(self.step.element_bytes) / float(half.bandwidth))


@dataclass(frozen=True, eq=False)
class _Labels:
    """The labels of a layer group, exact and as floats."""

    exact: Choice
    floats: Choice


class ShareSearch:
    """Chooses for a pair the types and shares of least time."""

    def __init__(self, step: Workload, *, shares: bool, only: PartitionType | None = None):
        self.step = step
        self.shares = shares
        self.types: list[tuple[PartitionType, ...]] = [
            (only,) if only is not None and is_layer else types
            for types, is_layer in zip(step.types, step.is_layer, strict=True)
        ]
        self._labels: dict[tuple[tuple[PartitionType, Shares], ...], _Labels] = {}
        beside: list[set[int]] = [set() for _ in step.types]
        for producer, consumer in zip(step.producers, step.consumers, strict=True):
            beside[producer].add(consumer)
            beside[consumer].add(producer)
        self._neighbours = [sorted(groups) for groups in beside]

    def choose(self, halves: Halves, local: LocalWork) -> Choice:
        """The best choice for what is left; of equally good ones halves and the first type."""
        labels, order = self._labels_of(halves, local)
        sizes = [len(own.floats.types) for own in labels]
        graph = Choices(sizes, _of_groups(halves, local, labels), _of_edges(halves, local, labels))
        result = minimise_in(order, graph, max_table=MAX_TABLE)
        chosen = list(zip(labels, result.choice, strict=True))
        return Choice(
            np.array([own.exact.types[label] for own, label in chosen], np.intp),
            np.array([own.exact.shares[label] for own, label in chosen], np.object_),
        )

    def _labels_of(self, halves: Halves, local: LocalWork) -> tuple[list[_Labels], Order]:
        """
        The labels of all layer groups, and an elimination order; groups with the same labels share one object.

        Where the graph is so wide that nothing is found exactly, all have the ratio of the speeds for their share.
        """
        if not self.shares or len(halves.fleet.groups) == 1:
            labels = self._of_one_share(HALF)
            return labels, self._order(labels)
        first, second = (half.speed for half in halves.fleet.halves())
        ratio = first / (first + second)
        balanced, usual = balanced_shares(halves, local), (HALF, ratio, *(Fraction(k, GRID) for k in range(1, GRID)))
        labels: list[_Labels] = []
        for group, types in enumerate(self.types):
            own: list[tuple[PartitionType, Shares]] = [
                (type, (*usual, *balanced[TYPE_NUMBER[type]][group])) for type in types
            ]
            labels.append(self._label_set(tuple(own)))
        order = self._order(labels)
        if sum(order.tables) <= MOST_WORK:
            return labels, order
        labels = self._of_one_share(ratio)
        return labels, self._order(labels)

    def _of_one_share(self, share: Fraction) -> list[_Labels]:
        return [self._label_set(tuple((type, (share,)) for type in types)) for types in self.types]

    def _order(self, labels: Sequence[_Labels]) -> Order:
        return best_order([len(own.floats.types) for own in labels], self._neighbours, MAX_TABLE)

    def _label_set(self, types: tuple[tuple[PartitionType, Shares], ...]) -> _Labels:
        """The labels for the candidate shares of a group's types; replicated work has no share."""
        if types not in self._labels:
            codes: list[int] = []
            shares: list[Fraction] = []
            for type, own in types:
                distinct = [HALF] if type == "whole" else list(dict.fromkeys(own))
                codes += [TYPE_NUMBER[type]] * len(distinct)
                shares += distinct
            exact = Choice(np.array(codes, np.intp), np.array(shares, np.object_))
            self._labels[types] = _Labels(exact, Choice(exact.types, exact.shares.astype(np.float64)))
        return self._labels[types]


def _of_groups(halves: Halves, local: LocalWork, labels: Sequence[_Labels]) -> list[Table]:
    alike: dict[_Labels, list[int]] = {}
    for group, own in enumerate(labels):
        alike.setdefault(own, []).append(group)
    found: list[Table] = [np.zeros(0)] * len(labels)
    for own, groups in alike.items():
        read = local.within[own.floats.types][:, groups]
        sides: list[Table] = []
        for side in (0, 1):
            computing, moving = halves.seconds(side, own.floats.part(side)[:, None] * local.work[groups], read)
            sides.append(computing + moving)
        slower = np.maximum(sides[0], sides[1])
        for place, group in enumerate(groups):
            found[group] = slower[:, place]
    return found


def _of_edges(halves: Halves, local: LocalWork, labels: Sequence[_Labels]) -> dict[tuple[int, int], Table]:
    step = halves.step
    rates: dict[tuple[_Labels, _Labels, bool, bool], Table] = {}
    found: dict[tuple[int, int], Table] = {}
    for producer, consumer, elements in zip(step.producers, step.consumers, local.entering.tolist(), strict=True):
        key = labels[producer], labels[consumer], step.is_layer[producer], step.is_layer[consumer]
        if key not in rates:
            before, after = key[0].floats, key[1].floats
            upright = Choice(before.types[:, None], before.shares[:, None])
            read = crossing(upright, after, *key[2:])
            sides = [halves.seconds(side, read[side], read[side])[1] for side in (0, 1)]
            rates[key] = np.maximum(sides[0], sides[1])
        cost = rates[key] * elements
        found[producer, consumer] = found[producer, consumer] + cost if (producer, consumer) in found else cost
    return found


def balanced_shares(halves: Halves, local: LocalWork) -> list[list[Shares]]:
    """
    By type and layer group, the share that balances both sides for the group alone, if there is one.

    With work c0 and c1 on either side alone and movement m0 and m1, that is a c0 + m0 = (1 - a) c1 + m1.
    """
    found: list[list[Shares]] = []
    for moved in local.within:
        (work0, read0), (work1, read1) = (halves.seconds(side, local.work, moved) for side in (0, 1))
        known = local.work > 0
        shares = (work1 + read1 - read0) / np.where(known, work0 + work1, 1)
        rounded = [Fraction(share).limit_denominator(FINEST) for share in shares.tolist()]
        found.append([(share,) if ok and 0 < share < 1 else () for share, ok in zip(rounded, known, strict=True)])
    return found
