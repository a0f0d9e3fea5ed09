"""A discrete grid of points: so many values along each axis, of which the last varies fastest."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from npuc.compiler.explore.pareto.front import Ints

MOST_NUMBERS = 1 << 62
"""The most points that have numbers."""


@dataclass(frozen=True)
class GridSpace:
    """
    So many values along each axis; `ordered` says of which axes neighbouring values are near each other.

    A point is its number, or its places: the numbers of its values along the axes.
    """

    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]

    @property
    def count(self) -> int:
        """How many points there are."""
        return prod(self.sizes)

    def places(self, numbers: Ints) -> Ints:
        """The places of points by their numbers, [axis, point]."""
        found = np.empty((len(self.sizes), len(numbers)), np.int64)
        for axis in range(len(self.sizes) - 1, -1, -1):
            numbers, found[axis] = np.divmod(numbers, self.sizes[axis])
        return found

    def numbers(self, places: Ints) -> Ints:
        """The numbers of points by their places, [axis, point]."""
        found = np.zeros(places.shape[1], np.int64)
        for axis, size in enumerate(self.sizes):
            found = found * size + places[axis]
        return found
