"""
Communication of an edge over all levels together, each of which halves: closed forms, for many type sequences at once.

Under `physical` it depends only on how many levels have each pair of types, not on their order. With `cut` levels at
which the producer shards the tensor, and the numbers of levels that take a slice, an all-to-all and a gather,

    slices      (1 - 2^-slices) / 2^cut                  for the gradient
    swaps       swaps / 2 / 2^(cut + slices)             and as much for the gradient
    gathers     (2^gathers - 1) / 2^(cut + slices)       and as much for a gradient that is scattered
    reductions  2 (1 - 2^-partial) / 2^required          of the gradient of a value read whole at `partial` levels
    scatters    (1 - 2^-scatters) / 2^produced           of partial sums, and as much for the gradient
    deferred    0                                        partial sums that are kept or taken, but for their size

of D elements on D devices (`resharding.py` has the steps, `cost_terms.py` the amounts of each level). Under the papers'
conventions the order matters: a level counts twice for each level above it at which the consumer takes all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.sharding.cost.cost_terms import EdgeRate, Rate, ReductionRate, TypeSequence
from npuc.compiler.analysis.sharding.cost.paper_terms import InterLayerRate
from npuc.compiler.analysis.sharding.graph.edges import TYPE_NUMBER
from npuc.compiler.analysis.sharding.graph.partition_types import PARTITION_TYPES, PartitionType
from npuc.compiler.layers.base import Combine

Numbers = NDArray[np.int64]
Cells = NDArray[np.bool_]
"""A flag for each pair of types, [producer's, consumer's]."""
MOST_HALVINGS = 28
"""With more levels the amount per element may overflow 64 bits."""


def totals(rate: Rate, before: Sequence[TypeSequence], after: Sequence[TypeSequence]) -> Numbers:
    """The amount per element over all levels, [producer's sequence, consumer's], in the units of `resharding.py`."""
    producer, consumer = _numbers(before), _numbers(after)
    levels = producer.shape[1]
    if isinstance(rate, InterLayerRate):
        charged, whole, halves = _paper_cells(rate)
        amounts = charged * (2 if rate.active else halves)
        found: Numbers = np.zeros((len(before), len(after)), np.int64)
        replicas = np.ones_like(found)
        for h in range(levels):
            cell = np.ix_(producer[:, h], consumer[:, h])
            found += replicas * amounts[cell]
            replicas *= 1 + whole[cell]
        return (found << levels) // 2

    def count(cells: Cells) -> Numbers:
        # sums of ones are exact in floats, whose matrix product is faster
        rows = cells[producer].reshape(len(before), -1).astype(np.float64)
        one_hot = (consumer[:, :, None] == np.arange(len(PARTITION_TYPES))).reshape(len(after), -1)
        return (rows @ one_hot.T.astype(np.float64)).astype(np.int64)

    return _closed(rate, count, levels)


def least_totals(
    rate: Rate, before: Sequence[PartitionType], after: Sequence[PartitionType], counts: Numbers
) -> Numbers:
    """
    The least amount per element over all levels, among all orders of levels with given numbers of each type pair.

    `counts` is [case, producer's type, consumer's], with types numbered as in `before` and `after`. Units as `totals`.
    """
    places = np.ix_([TYPE_NUMBER[type] for type in before], [TYPE_NUMBER[type] for type in after])
    levels = int(counts[0].sum())

    def count(cells: Cells) -> Numbers:
        return counts.reshape(len(counts), -1) @ cells[places].reshape(-1).astype(np.int64)

    if isinstance(rate, InterLayerRate):
        charged, whole, halves = _paper_cells(rate)
        # the charged levels come first, among them last those at which the consumer takes all
        if rate.active:
            return (count(charged & ~whole) + _power(count(charged & whole)) - 1) << levels
        half, all_of_it = charged & ~whole & (halves == 1), charged & whole & (halves == 2)
        return (count(half) << levels) // 2 + ((_power(count(all_of_it)) - 1) << levels)
    return _closed(rate, count, levels)


def _numbers(sequences: Sequence[TypeSequence]) -> NDArray[np.intp]:
    return np.array([[TYPE_NUMBER[type] for type in sequence] for sequence in sequences], np.intp)


def _power(exponent: Numbers) -> Numbers:
    return np.left_shift(1, exponent)


def _paper_cells(rate: InterLayerRate) -> tuple[Cells, Cells, Numbers]:
    """Where a boundary is charged, where its consumer takes all, and how many of its halves go forward."""
    cells = [
        [(*rate.cell(produced, read), rate.halves(produced, read)) for read in PARTITION_TYPES]
        for produced in PARTITION_TYPES
    ]
    both: Numbers = np.array(cells, np.int64)
    return both[:, :, 0].astype(np.bool_), both[:, :, 1].astype(np.bool_), both[:, :, 2]


def _closed(rate: Rate, count: Callable[[Cells], Numbers], levels: int) -> Numbers:
    """The closed form, from a function that counts the levels whose type pair is flagged."""
    if isinstance(rate, ReductionRate):
        return _sum(rate, count, levels)
    assert isinstance(rate, EdgeRate)
    everywhere = (len(PARTITION_TYPES), len(PARTITION_TYPES))
    cut = _by_maker([axis is not None for axis in rate.produced])
    needs = _by_reader([axis is not None for axis in rate.required])
    partial_gradient = _by_reader(list(rate.partial_gradient) if rate.active else [False] * len(PARTITION_TYPES))
    partial_value = _by_reader(list(rate.partial_value))
    deferred_gradient = _by_maker(list(rate.deferred_gradient) if rate.active else [False] * len(PARTITION_TYPES))
    same: Cells = np.array([[produced == required for required in rate.required] for produced in rate.produced])
    scattered = cut & ~needs & partial_gradient if rate.scatter_gradient else np.zeros(everywhere, np.bool_)
    # the exponent of a part's size times the devices, step by step
    start = 2 * levels - count(cut) - count(~cut & needs & deferred_gradient)
    slices = count(~cut & needs & ~deferred_gradient)
    there = (count(cut & needs & ~same) << start - slices) // 2
    both = start - slices + count(scattered)
    first = _power(both) - _power(start - slices)
    end = both + count(cut & ~needs & ~partial_value & ~scattered)
    gathered = first + _power(end) - _power(both)
    if not rate.active:
        return there + gathered
    back = _power(start) - _power(start - slices) + there + first
    sums = count(partial_gradient & ~deferred_gradient & ~scattered)
    return there + gathered + back + _power(end + 1) - _power(end + 1 - sums)


def _sum(rate: ReductionRate, count: Callable[[Cells], Numbers], levels: int) -> Numbers:
    """The reduction of partial sums at the levels at which it is not deferred, and its half where it is a scatter."""
    whole = 2 * levels + 1 - count(_by_maker([axis is not None for axis in rate.produced]))
    scattered = _by_maker([axis is not None for axis in rate.scatters])
    others = _by_reader(list(rate.deferred)) | scattered
    found = _power(whole) - _power(whole - count(scattered))
    if not rate.active:
        found //= 2
    for how in Combine:
        found += _power(whole) - _power(whole - count(_by_maker([own is how for own in rate.adds]) & ~others))
    return found


def _by_maker(flags: Sequence[bool]) -> Cells:
    return np.array([[own] * len(PARTITION_TYPES) for own in flags], np.bool_)


def _by_reader(flags: Sequence[bool]) -> Cells:
    return np.array([list(flags)] * len(PARTITION_TYPES), np.bool_)
