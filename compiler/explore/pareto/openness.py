"""Which points of a grid may still be on the front: neither priced nor excluded by a bound."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

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
ENOUGH, TIGHT = 8, 0.8
"""From so many priced points on, and so near to their costs in the middle of these, bounds alone choose points."""
ROUNDING = 1e-9
"""By how much a goal may be below its bound, as a share of it: what sums of floats lose."""


class OpenPoints:
    """
    The points that are open, in ascending order, with their bounds; `excluded` and `forbidden` count those that bounds
    have closed, and `implied` those of the excluded whose bounds follow from points that were priced.

    `broken` are points that cost less than their bounds. From then on no bound is `trusted`, and all points that were
    not priced are open again.
    """

    def __init__(self, space: GridSpace, goals: int, floors: Floors | None):
        self._space, self._goals, self._floors = space, goals, floors
        self.excluded, self.forbidden, self.implied, self.trusted = 0, 0, 0, floors is not None
        self.broken: list[int] = []
        self._known = set[int]()
        self._front, self._values = np.zeros(0, np.int64), np.zeros((0, goals))
        self._all = space.count <= ENUMERATED
        self._is_closed = np.zeros(space.count if self._all else 0, np.bool_)
        self._open = np.arange(space.count if self._all else 0, dtype=np.int64)
        self._bounds = np.full((len(self._open), goals), -np.inf)
        self._law = np.zeros(len(self._open), np.int8)
        self._laws: list[str] = []
        self.laws = set[str]()
        """The laws by which priced points have closed others."""
        self._shares: list[float] = []
        self._stale = 0
        if floors is not None and self._all:
            away = np.concatenate([floors.forbidden(one) for one in self._chunks()] or [np.zeros(0, np.bool_)])
            self.forbidden = int(away.sum())
            self._is_closed[self._open[away]] = True
            self._keep(~away)
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

    @property
    def tight(self) -> bool:
        """Whether bounds are so near to costs that open points are best priced by their bounds alone."""
        return self.informed and len(self._shares) >= ENOUGH and median(self._shares) >= TIGHT

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
            bounds = self._known_bounds(numbers)
            for one, least in zip(arrived, bounds, strict=True):
                if one.goals is None:
                    continue
                if (np.array(one.goals) < least - ROUNDING * np.abs(least)).any():
                    self.broken.append(one.number)
                shares = [low / own for low, own in zip(least.tolist(), one.goals, strict=True) if own > 0 and low >= 0]
                self._shares += [min(shares)] if shares else []
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
        self._exclude(_beaten(self._open, self._bounds, numbers, values))

    def tighten(self, arrived: Sequence[Priced], front: Ints, values: Floats) -> None:
        """What points that were priced say of others: those are closed that the front beats for certain now."""
        if self._floors is None or not self._all or not self.trusted:
            return
        self._settle()
        changed = np.zeros(len(self._open), np.bool_)
        for one in self._floors.implied([one.number for one in arrived], self._open):
            above = (one.bounds > self._bounds[one.rows]).any(axis=1)
            rows = one.rows[above]
            self._bounds[rows] = np.maximum(self._bounds[rows], one.bounds[above])
            changed[rows] = True
            self._laws += [one.law] * (one.law not in self._laws)
            self._law[rows] = 1 + self._laws.index(one.law)
        rows = np.flatnonzero(changed)
        away = np.zeros(len(self._open), np.bool_)
        away[rows] = _beaten(self._open[rows], self._bounds[rows], front, values)
        self._exclude(away)

    def _exclude(self, away: Flags) -> None:
        """Close points that something beats."""
        self._is_closed[self._open[away]] = True
        self.excluded += int(away.sum())
        laws = self._law[away]
        self.implied += int((laws > 0).sum())
        self.laws.update(law for number, law in enumerate(self._laws, 1) if (laws == number).any())
        self._keep(~away)

    def _known_bounds(self, numbers: Ints) -> Floats:
        """What is known of points, also by what was priced before them."""
        assert self._floors is not None
        bounds = self._floors.of(numbers)
        rows = np.searchsorted(self._open, numbers)
        rows[rows == len(self._open)] = 0
        mine = self._open[rows] == numbers if len(self._open) else np.zeros(len(numbers), np.bool_)
        bounds[mine] = np.maximum(bounds[mine], self._bounds[rows[mine]])
        return bounds

    def refresh(self, front: Ints, values: Floats) -> None:
        """More is known of points."""
        if self._all:
            self._settle()
            self._bounds = np.maximum(self._bounds, self._bounds_of_open())
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
        kinds = count if self.tight or not self._shares else WEIGHTS
        each = -(-count // kinds)
        for weights in random.dirichlet(np.ones(len(told)), kinds):
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
        self._open, self._bounds, self._law = self._open[kept], self._bounds[kept], self._law[kept]

    def _distrust(self) -> None:
        """Open everything again that was not priced."""
        self.trusted, self.excluded, self.forbidden, self.implied = False, 0, 0, 0
        self.laws.clear()
        if self._all:
            self._is_closed[:] = False
            self._is_closed[np.array(sorted(self._known), np.int64)] = True
            self._open = np.flatnonzero(~self._is_closed).astype(np.int64)
            self._stale = 0
            self._bounds = np.full((len(self._open), self._goals), -np.inf)
            self._law = np.zeros(len(self._open), np.int8)


def _beaten(numbers: Ints, bounds: Floats, by: Ints, values: Floats) -> Flags:
    """Which of some points with bounds are not on the front beside priced points."""
    found = np.zeros(len(numbers), np.bool_)
    for number, value in zip(by.tolist(), values, strict=True):
        no_better = (value <= bounds).all(axis=1)
        found |= no_better & ((value < bounds).any(axis=1) | (number < numbers))
    return found
