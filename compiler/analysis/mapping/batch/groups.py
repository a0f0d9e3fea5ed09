"""Reductions over rows that belong to groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def sum_by(entry: Ints, values: Floats, count: int) -> Floats:
    """The sums of values by the number of their entry, of `count` entries."""
    return np.bincount(entry, values, count).astype(np.float64, copy=False)


@dataclass(frozen=True)
class EntryReductions:
    """Reductions over the steps of each entry."""

    order: Ints
    starts: Ints

    @staticmethod
    def of(entry: Ints, count: int) -> EntryReductions:
        """Steps by their entries, each of which has one."""
        order = np.argsort(entry, kind="stable")
        return EntryReductions(order, np.searchsorted(entry[order], np.arange(count)))

    def most(self, values: Floats) -> Floats:
        """The largest of each entry."""
        return np.maximum.reduceat(values[self.order], self.starts)

    def distance(self, place: Floats) -> NDArray[np.int32]:
        """How far each step is from the last of its entry, which is 1: the order of `place`, with 0 behind all."""
        entry = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, len(self.order))))
        behind = np.where(place > 0, place, np.inf)[self.order]
        order = np.lexsort((behind, entry))
        found = np.empty(len(place), np.int32)
        found[self.order[order]] = np.arange(len(place)) - self.starts[entry] + 1
        return found

    def least(self, values: Floats) -> Floats:
        """The smallest of each entry."""
        return np.minimum.reduceat(values[self.order], self.starts)
