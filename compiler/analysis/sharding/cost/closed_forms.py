"""
What a boundary moves over all levels together, each of which halves: closed forms, for many patterns at once.

Under `physical` it depends only on how many levels have which two ways, not on their order: with `cut` levels at which
the maker has the tensor cut, and the numbers of levels that take a slice, an all-to-all and a gather,

    slices      (1 - 2^-slices) / 2^cut                  for the gradient
    swaps       swaps / 2 / 2^(cut + slices)             and as much for the gradient
    gathers     (2^gathers - 1) / 2^(cut + slices)       and as much for a gradient that is scattered
    sums        2 (1 - 2^-shared) / 2^needed             of the gradient of what is read whole at `shared` levels
    addends     0                                        what is held or taken as addends, but for its size

of D elements on D devices (`moves` has the steps, `terms` the amounts of each level). Under the papers' conventions the
order matters: a level counts twice for each level above it at which the reader takes all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.sharding.cost.cost_terms import Pattern, Rate, ReadingRate, SumRate
from npuc.compiler.analysis.sharding.cost.paper_terms import BetweenRate
from npuc.compiler.analysis.sharding.graph.edges import TYPE_NUMBER
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, PartitionType
from npuc.compiler.layers.base import Combine

Numbers = NDArray[np.int64]
Cells = NDArray[np.bool_]
"""Which pairs of ways, [maker's, reader's]."""
MOST_HALVINGS = 28
"""With more levels 64 bits may not hold what an element moves."""


def totals(rate: Rate, before: Sequence[Pattern], after: Sequence[Pattern]) -> Numbers:
    """What one element moves in all, [pattern of the maker, pattern of the reader], in the units of `moves`."""
    maker, reader = _numbers(before), _numbers(after)
    levels = maker.shape[1]
    if isinstance(rate, BetweenRate):
        charged, whole, halves = _paper_cells(rate)
        amounts = charged * (2 if rate.active else halves)
        found: Numbers = np.zeros((len(before), len(after)), np.int64)
        replicas = np.ones_like(found)
        for h in range(levels):
            cell = np.ix_(maker[:, h], reader[:, h])
            found += replicas * amounts[cell]
            replicas *= 1 + whole[cell]
        return (found << levels) // 2

    def count(cells: Cells) -> Numbers:
        # products of ones: exact as floats, which are multiplied faster
        rows = cells[maker].reshape(len(before), -1).astype(np.float64)
        one_hot = (reader[:, :, None] == np.arange(len(PARTITION_TYPES))).reshape(len(after), -1)
        return (rows @ one_hot.T.astype(np.float64)).astype(np.int64)

    return _closed(rate, count, levels)


def least_totals(
    rate: Rate, before: Sequence[PartitionType], after: Sequence[PartitionType], counts: Numbers
) -> Numbers:
    """
    The least that one element moves in all, of all orders of levels of which so many have which two ways.

    `counts` is [case, maker's way, reader's way], the ways numbered as in `before` and `after`. Units as `totals`.
    """
    places = np.ix_([TYPE_NUMBER[type] for type in before], [TYPE_NUMBER[type] for type in after])
    levels = int(counts[0].sum())

    def count(cells: Cells) -> Numbers:
        return counts.reshape(len(counts), -1) @ cells[places].reshape(-1).astype(np.int64)

    if isinstance(rate, BetweenRate):
        charged, whole, halves = _paper_cells(rate)
        # the charged levels on top, those at which the reader takes all below the others
        if rate.active:
            return (count(charged & ~whole) + _power(count(charged & whole)) - 1) << levels
        half, all_of_it = charged & ~whole & (halves == 1), charged & whole & (halves == 2)
        return (count(half) << levels) // 2 + ((_power(count(all_of_it)) - 1) << levels)
    return _closed(rate, count, levels)


def _numbers(patterns: Sequence[Pattern]) -> NDArray[np.intp]:
    return np.array([[TYPE_NUMBER[type] for type in pattern] for pattern in patterns], np.intp)


def _power(exponent: Numbers) -> Numbers:
    return np.left_shift(1, exponent)


def _paper_cells(rate: BetweenRate) -> tuple[Cells, Cells, Numbers]:
    """Where a boundary is charged, where its reader takes all, and how many halves of it go forward."""
    cells = [
        [(*rate.cell(made, read), rate.halves(made, read)) for read in PARTITION_TYPES] for made in PARTITION_TYPES
    ]
    both: Numbers = np.array(cells, np.int64)
    return both[:, :, 0].astype(np.bool_), both[:, :, 1].astype(np.bool_), both[:, :, 2]


def _closed(rate: Rate, count: Callable[[Cells], Numbers], levels: int) -> Numbers:
    """The closed form, from a count of levels."""
    if isinstance(rate, SumRate):
        return _sum(rate, count, levels)
    assert isinstance(rate, ReadingRate)
    everywhere = (len(PARTITION_TYPES), len(PARTITION_TYPES))
    cut = _by_maker([axis is not None for axis in rate.made])
    needs = _by_reader([axis is not None for axis in rate.needed])
    shared = _by_reader(list(rate.shared) if rate.active else [False] * len(PARTITION_TYPES))
    added = _by_reader(list(rate.added))
    held = _by_maker(list(rate.held) if rate.active else [False] * len(PARTITION_TYPES))
    same: Cells = np.array([[made == needed for needed in rate.needed] for made in rate.made])
    scattered = cut & ~needs & shared if rate.scattered else np.zeros(everywhere, np.bool_)
    # the exponent of a part's size times the devices, step by step
    start = 2 * levels - count(cut) - count(~cut & needs & held)
    slices = count(~cut & needs & ~held)
    there = (count(cut & needs & ~same) << start - slices) // 2
    both = start - slices + count(scattered)
    first = _power(both) - _power(start - slices)
    end = both + count(cut & ~needs & ~added & ~scattered)
    gathered = first + _power(end) - _power(both)
    if not rate.active:
        return there + gathered
    back = _power(start) - _power(start - slices) + there + first
    sums = count(shared & ~held & ~scattered)
    return there + gathered + back + _power(end + 1) - _power(end + 1 - sums)


def _sum(rate: SumRate, count: Callable[[Cells], Numbers], levels: int) -> Numbers:
    """The sum of addends at the levels at which no taker takes them."""
    whole = 2 * levels + 1 - count(_by_maker([axis is not None for axis in rate.made]))
    later = _by_reader(list(rate.later))
    found = np.zeros_like(whole)
    for how in Combine:
        found += _power(whole) - _power(whole - count(_by_maker([own is how for own in rate.adds]) & ~later))
    return found


def _by_maker(flags: Sequence[bool]) -> Cells:
    return np.array([[own] * len(PARTITION_TYPES) for own in flags], np.bool_)


def _by_reader(flags: Sequence[bool]) -> Cells:
    return np.array([list(flags)] * len(PARTITION_TYPES), np.bool_)
