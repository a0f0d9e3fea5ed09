"""
Unequal shares: the elements that the two sides of a pair read from each other, and the work left to each side.

Side 0 has the share a of the dimension that a layer's type splits, side 1 the rest: tensors that are halves in `chain`
are parts a and 1 - a. Within a layer each side reads all of the other's partial sums, as with equal shares: of the
weights' gradient (I), of the output (II), of the input's gradient (III). At a boundary it reads the part that it lacks:

    has                 needs                    side 0 reads     side 1 reads
    all                 anything                 0                0
    a along an axis     all                      1 - a            a
    a along an axis     b along the same         max(0, b - a)    max(0, a - b)
    a along an axis     b along the other        b (1 - a)        (1 - b) a

Side 0 has the positions [0, a) of an axis and needs [0, b) of it; of b of the other axis it has a part a. The value
goes from what its maker gives to what its reader takes (`paper_terms`), the error back from what the reader takes,
since it makes the error in that form, to what the maker gives. With a = b = 1/2 these are the amounts of `table2`, with
a = b those of Song et al., "AccPar", HPCA 2020.

Arrays are floats, or Python's fractions (dtype object), which are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from npuc.compiler.analysis.sharding.cost.paper_terms import GIVES, JOIN, TAKES, Part
from npuc.compiler.analysis.sharding.graph.edges import TYPE_NUMBER
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, PartitionType
from npuc.compiler.analysis.solvers.choices.graph import Table

PARTS: dict[Part, int] = {"batch": 0, "channels": 1, "all": 2}
ALL, REPLICATED, III = PARTS["all"], TYPE_NUMBER["whole"], TYPE_NUMBER["III"]


def _numbers(parts: dict[PartitionType, Part]) -> Table:
    """The number of the part by that of the type."""
    return np.array([PARTS[parts[type]] for type in PARTITION_TYPES])


_GIVEN, _TAKEN = (np.array([_numbers(JOIN), _numbers(layer)]) for layer in (GIVES, TAKES))
_CUTS = np.array(
    [
        # of the weights, the output and the input: whether a side has only its share
        [False, True, True, False],
        [True, False, True, False],
        [True, True, False, False],
    ]
)


@dataclass(frozen=True, eq=False)
class Workload:
    """
    The workload of a step: layer groups with their types, and the edges (producer, consumer) between them.

    `is_layer`: which groups are weighted layers; `whole`: the work and the tensors of all devices together.
    """

    types: Sequence[tuple[PartitionType, ...]]
    is_layer: Sequence[bool]
    producers: Sequence[int]
    consumers: Sequence[int]
    whole: LocalWork
    element_bytes: int | Fraction


@dataclass(frozen=True, eq=False)
class LocalWork:
    """
    What is left of a step in a group of devices.

    `within[type, group]` are the elements of partial sums, `work` the operations of each layer group, `entering`
    the elements of the value at each boundary.
    """

    within: Table
    work: Table
    entering: Table

    @property
    def key(self) -> bytes:
        """The same for the same floats."""
        return self.within.tobytes() + self.work.tobytes() + self.entering.tobytes()

    @staticmethod
    def of(partial_sums: Sequence[Sequence[int]], work: Sequence[int], entering: Sequence[int]) -> LocalWork:
        """
        Integers as exact arrays; `partial_sums` are elements of the weights, the output and the input of each group.
        """
        rows = [*partial_sums, [0] * len(work)]
        return LocalWork(*(np.array(numbers, np.object_) for numbers in (rows, work, entering)))

    def as_floats(self) -> LocalWork:
        """The same as floats."""
        return LocalWork(*(table.astype(np.float64) for table in (self.within, self.work, self.entering)))


@dataclass(frozen=True, eq=False)
class Choice:
    """A type, by number, and the share of side 0, for each layer group or label; `whole` has no share."""

    types: Table
    shares: Table

    def part(self, side: int) -> Table:
        """How much of the work is that side's."""
        own = self.shares if side == 0 else 1 - self.shares
        return np.where(self.types == REPLICATED, 1, own)

    def parts(self, is_layer: Table | bool) -> tuple[Table, Table]:
        """What each takes of the values that it reads, and gives of those that it makes: numbers of `PARTS`."""
        row = np.asarray(is_layer).astype(np.intp)
        return _TAKEN[row, self.types], _GIVEN[row, self.types]

    def at(self, groups: Sequence[int]) -> Choice:
        """The choice of some layer groups."""
        return Choice(self.types[groups], self.shares[groups])


def lacks(has: Table, needs: Table, a: Table, b: Table) -> tuple[Table, Table]:
    """What each side lacks of one element of a value of which it has a part with share a and needs one with share b."""
    same = has == needs
    first = np.where(needs == ALL, 1 - a, np.where(same, np.maximum(0, b - a), b * (1 - a)))
    second = np.where(needs == ALL, a, np.where(same, np.maximum(0, a - b), (1 - b) * a))
    return np.where(has == ALL, 0, first), np.where(has == ALL, 0, second)


def crossing(
    producer: Choice, consumer: Choice, makers_are_layers: Table | bool, readers_are_layers: Table | bool
) -> tuple[Table, Table]:
    """What each side reads at a boundary for one element of the value, the value and its error together."""
    _, given = producer.parts(makers_are_layers)
    taken, _ = consumer.parts(readers_are_layers)
    there, back = (
        lacks(given, taken, producer.shares, consumer.shares),
        lacks(taken, given, consumer.shares, producer.shares),
    )
    return there[0] + back[0], there[1] + back[1]


def boundaries(step: Workload, local: LocalWork, choice: Choice) -> tuple[Table, Table]:
    """The elements that each side reads at each boundary."""
    is_layer = np.array(step.is_layer, np.bool_)
    producers, consumers = list(step.producers), list(step.consumers)
    first, second = crossing(choice.at(producers), choice.at(consumers), is_layer[producers], is_layer[consumers])
    return first * local.entering, second * local.entering


def partial_sums(local: LocalWork, choice: Choice) -> Table:
    """The elements of the other side's partial sums that each side reads for each layer group."""
    return local.within[choice.types, np.arange(len(choice.types))]


def local_work_in(step: Workload, local: LocalWork, choice: Choice, side: int) -> LocalWork:
    """What is left of a group in one of its sides."""
    part = choice.part(side)
    within = local.within.copy()
    within[:3] = np.where(_CUTS[:, choice.types], within[:3] * part, within[:3])
    taken, _ = choice.parts(np.array(step.is_layer, np.bool_))
    consumers = list(step.consumers)
    entering = np.where(taken[consumers] == ALL, local.entering, local.entering * part[consumers])
    return LocalWork(within, local.work * part, entering)


def amount(step: Workload, local: LocalWork, choice: Choice) -> Fraction:
    """What a pair moves: half of what both sides read from each other, in elements; `local` and shares are exact."""
    first, second = boundaries(step, local, choice)
    both = 2 * partial_sums(local, choice).sum() + first.sum() + second.sum()
    return Fraction(both) / 2
