"""Values of arrays over the grid of a schedule search, at some of its positions."""

from collections.abc import Sequence
from functools import reduce
from typing import TypeVar

import numpy as np

from npuc.compiler.analysis.schedule.grid.space import Grid, Reals
from npuc.compiler.core.frozen import frozen

Values = TypeVar("Values", Grid, Reals)


@frozen(eq=False)
class GridSteps:
    """
    Combinations of tilings, as positions in the flat grid (`at`), at which the smallest footprint fits.

    `lower_bound` is a lower bound of the score there over all residency choices.
    """

    at: Grid
    lower_bound: Reals


class Places:
    """Positions `at` in a flat grid, to read arrays there; `maps` caches the positions in arrays of smaller shape."""

    def __init__(self, at: Grid, shape: tuple[int, ...], maps: dict[tuple[int, ...], Grid]):
        self.at, self.shape, self.maps = at, shape, maps
        self.known: dict[tuple[int, ...], Grid] = {}

    def of(self, values: Values) -> Values:
        """The values at these positions; axes of size 1 are broadcast."""
        found = self.known.get(values.shape)
        if found is None:
            if values.shape not in self.maps:
                numbers = np.arange(values.size).reshape(values.shape)
                self.maps[values.shape] = np.broadcast_to(numbers, self.shape).ravel()
            found = self.known[values.shape] = self.maps[values.shape][self.at]
        return values.ravel()[found]


def values_at(place: Places, values: Sequence[Values]) -> list[Values]:
    """The values of arrays over the grid at some positions, a row each; identical arrays are read once."""
    known: dict[int, Values] = {}
    for one in values:
        if id(one) not in known:
            known[id(one)] = place.of(one)
    return [known[id(one)] for one in values]


def least_of(arrays: Sequence[Reals]) -> Reals:
    """The least of several arrays at every position; identical ones are looked at once."""
    return reduce(np.minimum, {id(values): values for values in arrays}.values())
