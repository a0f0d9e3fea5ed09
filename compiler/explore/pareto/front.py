"""The Pareto front of points with several goals, each to be small: those that no other one beats, and their ranks."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]


def pareto(points: Floats) -> Ints:
    """The rows of points [row, goal], each to be small, that no other row dominates; of equal rows the first."""
    order = np.lexsort(points.T[::-1])
    kept: list[int] = []
    front = np.zeros((0, points.shape[1]))
    for row in map(int, order):
        if not len(front) or not (front <= points[row]).all(axis=1).any():
            kept.append(row)
            front = np.concatenate([front, points[row][None]])
    return np.array(sorted(kept), np.int64)


def ranks(points: Floats, most: int) -> Ints:
    """
    The number of the front that each row is on: 0 where no row dominates it, 1 where rows of front 0 alone do, and so
    on, until `most` rows have one; the others have the next number (NSGA-II's sort, Deb et al., 2002). Of equal rows
    the first is on an earlier front.
    """
    found = np.full(len(points), -1, np.int64)
    left, rank = np.arange(len(points)), 0
    while len(left) and (found >= 0).sum() < most:
        own = left[pareto(points[left])]
        found[own] = rank
        left, rank = left[found[left] < 0], rank + 1
    found[left] = rank
    return found


def crowding(points: Floats) -> Floats:
    """
    How far the neighbours of each row are along the goals, as shares of their ranges; infinite at the ends of a goal
    (NSGA-II's crowding distance).
    """
    distance = np.zeros(len(points))
    for values in points.T:
        order = np.argsort(values, kind="stable")
        low, high = values[order[0]], values[order[-1]]
        distance[order[[0, -1]]] = np.inf
        if high > low and len(points) > 2:
            distance[order[1:-1]] += (values[order[2:]] - values[order[:-2]]) / (high - low)
    return distance
