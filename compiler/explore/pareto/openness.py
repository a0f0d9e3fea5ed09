"""Which points of a grid may still be on the front: neither priced nor excluded by a bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from npuc.compiler.explore.pareto.front import Flags, Floats, Ints
from npuc.compiler.explore.pareto.priced import Floors, Priced
from npuc.compiler.explore.pareto.space import GridSpace

ENUMERATED = 4_000_000
"""The most points that are all looked at; of more, bounds are asked for where points are met."""
CHUNK = 1 << 18
SCARCE = 0.05
WEIGHTS = 4
"""The weights of goals by which bounds are compared in one choice."""
ROUNDING = 1e-9
"""By how much a goal may be below its bound, as a share of it: what sums of floats lose."""


class OpenPoints:
    """
    The points that are open, with their bounds; `excluded` and `forbidden` count those that bounds have closed.

    `broken` are points that cost less than their bounds. From then on no bound is `trusted`, and all points that were
    not priced are open again.
    """

    def __init__(self, space: GridSpace, goals: int, floors: Floors | None):
        self._space, self._goals, self._floors = space, goals, floors
        self.excluded, self.forbidden, self.trusted = 0, 0, floors is not None
        self.broken: list[int] = []
        self._known = set[int]()
        self._front, self._values = np.zeros(0, np.int64), np.zeros((0, goals))
        self._all = space.count <= ENUMERATED
        self._is_closed = np.zeros(space.count if self._all else 0, np.bool_)
        self._open = np.arange(space.count if self._all else 0, dtype=np.int64)
        self._bounds = np.full((len(self._open), goals), -np.inf)
        self._stale = 0
        if floors is not None and self._all:
            away = np.concatenate([floors.forbidden(one) for one in self._chunks()] or [np.zeros(0, np.bool_)])
            self.forbidden = int(away.sum())
            self._is_closed[self._open[away]] = True
            self._open = self._open[~away]
            self._bounds = self._bounds_of_open()

    @property
    def left(self) -> int | None:
        """How many points are open; None where there are too many to look at."""
        return len(self._open) - self._stale if self._all else None

    @property
    def scarce(self) -> bool:
        """Whether so few points are open that breeding hardly finds them."""
        return self._all and len(self._open) - self._stale < SCARCE * self._space.count

    @property
    def informed(self) -> bool:
        """Whether bounds say which open points are good."""
        if not self._all or not self.trusted or not len(self._open):
            return False
        return bool(len(self._told()))

    def _told(self) -> Ints:
        """The goals of which bounds differ among open points."""
        low, high = self._bounds.min(axis=0), self._bounds.max(axis=0)
        return np.flatnonzero(np.isfinite(low) & np.isfinite(high) & (high > low))

    def closed(self, numbers: Ints) -> Flags:
        """Which points are not open."""
        if self._all:
            return self._is_closed[numbers]
        away = np.array([int(number) in self._known for number in numbers], np.bool_)
        if self._floors is not None and self.trusted:
            away |= self._floors.forbidden(numbers)
            away |= _beaten(numbers, self._floors.of(numbers), self._front, self._values)
        return away

    def close(self, arrived: Sequence[Priced]) -> None:
        """Points were priced; they may show that bounds are wrong."""
        numbers = np.array([one.number for one in arrived], np.int64)
        self._known.update(numbers.tolist())
        if self._floors is not None and self.trusted and len(numbers):
            bounds = self._floors.of(numbers)
            for one, least in zip(arrived, bounds, strict=True):
                if one.goals is not None and (np.array(one.goals) < least - ROUNDING * np.abs(least)).any():
                    self.broken.append(one.number)
        if self._all:
            self._stale += int((~self._is_closed[numbers]).sum())
            self._is_closed[numbers] = True
        if self.broken and self.trusted:
            self._distrust()

    def exclude(self, numbers: Ints, values: Floats, front: Ints, front_values: Floats) -> None:
        """Points have come to the front, which is now as given: close all that they beat for certain."""
        self._front, self._values = front, front_values
        if not self._all or not self.trusted:
            return
        self._settle()
        before = len(self._open)
        away = _beaten(self._open, self._bounds, numbers, values)
        self._is_closed[self._open[away]] = True
        self._keep(~away)
        self.excluded += before - len(self._open)

    def refresh(self, front: Ints, values: Floats) -> None:
        """More is known of points."""
        if self._all:
            self._settle()
            self._bounds = self._bounds_of_open()
            self.exclude(front, values, front, values)

    def guided(self, count: int, random: Generator, front: Floats) -> list[int]:
        """Open points whose bounds are good under some weights of goals; the first ones where bounds say nothing."""
        if not count:
            return []
        self._settle()
        told = self._told() if len(self._open) else np.zeros(0, np.int64)
        if not self._all or not len(told):
            return self._open[:count].tolist()
        bounds = self._bounds[:, told]
        low = bounds.min(axis=0)
        high = np.maximum(front[:, told].max(axis=0), bounds.min(axis=0)) if len(front) else bounds.max(axis=0)
        scaled = (bounds - low) / np.where(high > low, high - low, 1.0)
        found: dict[int, None] = {}
        each = -(-count // WEIGHTS)
        for weights in random.dirichlet(np.ones(len(told)), WEIGHTS):
            score = (scaled * weights).max(axis=1) + 0.05 * scaled.sum(axis=1)
            most = min(each, len(score))
            best = np.argpartition(score, most - 1)[:most]
            found |= dict.fromkeys(self._open[np.sort(best)].tolist())
        return list(found)[:count]

    def some(self, count: int, random: Generator) -> list[int]:
        """Open points by chance; none where none is met."""
        if self._all:
            self._settle()
            most = min(count, len(self._open))
            return sorted(self._open[random.choice(len(self._open), most, replace=False)].tolist()) if most else []
        numbers = random.integers(0, self._space.count, 64 * count)
        return list(dict.fromkeys(numbers[~self.closed(numbers)].tolist()))[:count]

    def gap(self, front: Floats) -> float | None:
        """By which factor an open point may be better than the front in every goal; None where bounds do not say."""
        self._settle()
        if not self._all or not len(self._open) or not len(front) or not self.trusted:
            return None
        if (front <= 0).any() or (self._bounds <= 0).any():
            return None
        most = 1.0
        for start in range(0, len(self._open), CHUNK):
            bounds = self._bounds[start : start + CHUNK]
            least = np.full(len(bounds), np.inf)
            for point in front:
                least = np.minimum(least, (point / bounds).max(axis=1))
            most = max(most, float(least.max()))
        return most

    def _chunks(self) -> list[Ints]:
        return [self._open[start : start + CHUNK] for start in range(0, len(self._open), CHUNK)]

    def _bounds_of_open(self) -> Floats:
        assert self._floors is not None
        parts = [self._floors.of(one) for one in self._chunks()]
        return np.concatenate(parts) if parts else np.zeros((0, self._goals))

    def _settle(self) -> None:
        """Leave out what was closed since this was done last."""
        if self._stale:
            self._keep(~self._is_closed[self._open])
            self._stale = 0

    def _keep(self, kept: Flags) -> None:
        self._open, self._bounds = self._open[kept], self._bounds[kept]

    def _distrust(self) -> None:
        """Open everything again that was not priced."""
        self.trusted, self.excluded, self.forbidden = False, 0, 0
        if self._all:
            self._is_closed[:] = False
            self._is_closed[np.array(sorted(self._known), np.int64)] = True
            self._open = np.flatnonzero(~self._is_closed).astype(np.int64)
            self._stale = 0
            self._bounds = np.full((len(self._open), self._goals), -np.inf)


def _beaten(numbers: Ints, bounds: Floats, by: Ints, values: Floats) -> Flags:
    """Which of some points with bounds are not on the front beside priced points."""
    found = np.zeros(len(numbers), np.bool_)
    for number, value in zip(by.tolist(), values, strict=True):
        no_better = (value <= bounds).all(axis=1)
        found |= no_better & ((value < bounds).any(axis=1) | (number < numbers))
    return found
