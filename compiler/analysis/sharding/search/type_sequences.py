"""
Type sequences over many levels: those with few runs, and the numbers of levels that have each type.

3^H sequences are too many to search where H is large. The communication of a layer group by itself depends only on how
many levels have each type, and that of most boundaries little beyond the order of the types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.graph.partition_types import PartitionType

Counts = tuple[int, ...]
"""The number of levels of each of a layer group's types, in their order."""


@lru_cache(maxsize=64)
def compositions(levels: int, parts: int) -> NDArray[np.int64]:
    """All compositions of `levels` into `parts` nonnegative numbers, one per row, in lexicographic order."""
    totals = range(levels + 1)
    rows = [np.full((1, 1), total, np.int16) for total in totals]  # narrow: many parts have millions of rows
    for _ in range(parts - 2):
        rows = [_with_first(rows[: total + 1]) for total in totals]
    return (rows[levels] if parts == 1 else _with_first(rows)).astype(np.int64)


def _with_first(rests: Sequence[NDArray[np.int16]]) -> NDArray[np.int16]:
    """The compositions of a total, from those of all totals up to it into one part less."""
    heads = np.repeat(np.arange(len(rests), dtype=np.int16), [len(rest) for rest in reversed(rests)])
    return np.column_stack((heads, np.concatenate(rests[::-1])))


def ordered_sequence(types: Sequence[PartitionType], counts: Sequence[int]) -> TypeSequence:
    """The types in order, each at so many levels."""
    return tuple(type for type, count in zip(types, counts, strict=True) for _ in range(count))


def ordered_sequences(types: Sequence[PartitionType], levels: int) -> list[TypeSequence]:
    """One sequence for each distribution of the levels over the types."""
    return [ordered_sequence(types, counts) for counts in compositions(levels, len(types)).tolist()]


@lru_cache(maxsize=64)
def of_runs(types: tuple[PartitionType, ...], levels: int, most: int) -> tuple[TypeSequence, ...]:
    """All sequences of at most so many runs of one type, fewest runs first."""
    found: dict[TypeSequence, None] = {}
    for runs in range(1, most + 1):
        for order in product(types, repeat=runs):
            if all(a != b for a, b in pairwise(order)):
                for counts in compositions(levels - runs, runs).tolist() if levels >= runs else ():
                    found[ordered_sequence(order, [count + 1 for count in counts])] = None
    return tuple(found)


def few_orders(types: Sequence[PartitionType], levels: int) -> list[TypeSequence]:
    """Sequences with any numbers of levels of each type: those in the order of types, and all with two runs."""
    return list(dict.fromkeys((*ordered_sequences(types, levels), *of_runs(tuple(types), levels, 2))))


def counts_of(types: Sequence[PartitionType], sequence: TypeSequence) -> Counts:
    """The number of levels of a sequence that have each type."""
    return tuple(sequence.count(type) for type in types)


def neighbours(
    types: tuple[PartitionType, ...], around: Iterable[TypeSequence], levels: int, runs: int
) -> list[TypeSequence]:
    """
    The given sequences, and all of at most so many runs with as many levels of each type as one of them.

    One level may have another type.
    """
    around = list(dict.fromkeys(around))
    wanted: set[Counts] = set()
    for sequence in around:
        own = counts_of(types, sequence)
        wanted.add(own)
        for less, more in product(range(len(types)), repeat=2):
            if less != more and own[less]:
                wanted.add(tuple(n - (k == less) + (k == more) for k, n in enumerate(own)))
    return list(dict.fromkeys((*around, *(p for p in of_runs(types, levels, runs) if counts_of(types, p) in wanted))))
