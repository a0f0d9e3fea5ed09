"""
The best points of a sweep of any number of points, which are looked at one after another and not kept.

    front = Front(grid, "time")
    for point in points: front.add(point)

The front are the points with which no other one keeps up in time, DRAM traffic and energy at once, and in what is
minimised; of equal ones the first. Where parameters of the network are varied, all are taken a MAC.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

import numpy as np
import numpy.typing as npt

from npuc.compiler.core.options import objective_named
from npuc.compiler.explore.sweep.compare import BY_OBJECTIVE, ENERGY, TIME, TRAFFIC, Quantity, amount
from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.messages import point_text
from npuc.compiler.explore.sweep.point import SweepPoint

MOST_KEPT = 2_000
"""The most points of a front that are kept, which bounds memory; more are counted."""


@dataclass
class Front:
    """The best of the points that were added; `lost` are those that no longer found a place."""

    grid: Grid
    objective: str
    points: list[SweepPoint] = field(default_factory=list[SweepPoint])
    failed: int = 0
    first_failed: str = ""
    lost: int = 0
    _costs: npt.NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self._costs = np.empty((0, len(self.quantities)))

    @property
    def quantity(self) -> Quantity:
        """What is minimised."""
        return BY_OBJECTIVE[objective_named(self.objective)]

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What points are compared by, what is minimised first."""
        return tuple(dict.fromkeys((self.quantity, TIME, TRAFFIC, ENERGY)))

    @property
    def by_mac(self) -> bool:
        """Whether points do different work."""
        return any(axis.place == "define" for axis in self.grid.axes)

    def add(self, point: SweepPoint) -> None:
        """Look at a point."""
        if point.error is not None:
            self.failed += 1
            self.first_failed = self.first_failed or f"{point_text(point.values)}: {point.error}"
        cost = self._cost(point)
        if cost is None or (self._costs <= cost).all(axis=1).any():
            return
        left: npt.NDArray[np.bool_] = np.logical_not((self._costs >= cost).all(axis=1))
        if left.all() and len(self.points) >= MOST_KEPT:
            self.lost += 1
            least = cost[0] < self._costs[:, 0].min()
            if not least:
                return
            left[int(self._costs[:, 0].argmax())] = False  # the least of what is minimised always has a place
        self.points = [one for one, stays in zip(self.points, left.tolist(), strict=True) if stays]
        self.points.append(point)
        self._costs = np.concatenate([self._costs[left], cost[None]])

    def ranked(self) -> list[SweepPoint]:
        """The points of the front, those first that have the least of what is minimised."""
        return [self.points[number] for number in np.lexsort(self._costs.T[::-1]).tolist()]

    def _cost(self, point: SweepPoint) -> npt.NDArray[np.float64] | None:
        """The quantities of a point; None where nothing is known of what is minimised."""
        values = [amount(self.grid, quantity, point) for quantity in self.quantities]
        if values[0] is None:
            return None
        work = (point.totals.macs if point.totals is not None and self.by_mac else 1) or 1
        devices = self.grid.devices_of(point.index) if self.by_mac else 1
        return np.array([inf if value is None else value / (work * devices) for value in values])


def front_notes(front: Front) -> Iterator[str]:
    """What is to be said of a table of the front."""
    names = [one.title for one in front.quantities]
    per = " a MAC" if front.by_mac else ""
    yield f"these points alone are the best: no other one is as good in {', '.join(names[:-1])} and {names[-1]}{per}"
    if front.lost:
        yield f"{front.lost:,} more points were as good and found no place"
