"""
What priced points say of others, of the backend `cycle`: laws by which a point that was compiled bounds many that were
not.

*Equal bytes a cycle.* Clock and bandwidth enter schedules and rows as their quotient alone, bytes a cycle: of two
machines that differ in nothing but these and have the same quotient, exactly, all rows have the same cycles, bytes and
energy. So time is in inverse proportion to the clock, and traffic, energy and memory are equal. It holds at any `-O`,
for any objective and tolerance.

*A smaller machine is no faster.* With `-O0` and the objective time a contraction on one core takes at most 1 + t times
as long, t being the tolerance, as the best schedule of a set that does not depend on scratchpad, channel and clock
(`analysis/schedule/monotone.py`), and no schedule takes fewer seconds with less scratchpad that it may use, a slower
channel or a slower clock: its time is made of sums and maxima of cycles / clock and bytes / bandwidth. So if the larger
machine takes c whole cycles for it at the clock F, the smaller one takes (c - 1) / ((1 + t) F) seconds at least, as
rounding up adds less than a cycle; with t = 0 and the same clock c cycles, as rounding keeps the order. To this comes
the time of the smaller machine's streams, which is exact. A product's energy may fall with a slower channel, as what is
minimised is time: nothing is said of it.

Tests compare both with random points. Where another fact of a machine follows from one of these keys, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from npuc.compiler.core.numbers import as_written
from npuc.compiler.core.options import DEFAULT_LEVEL
from npuc.compiler.explore.optimize.goals import MetricGoal
from npuc.compiler.explore.optimize.machine_facts import GridMachines
from npuc.compiler.explore.optimize.point_facts import PointFacts
from npuc.compiler.explore.optimize.row_floors import RowFloors
from npuc.compiler.explore.pareto.front import Flags, Floats, Ints
from npuc.compiler.explore.pareto.priced import Implied
from npuc.compiler.explore.plot.metrics import Numbers
from npuc.compiler.explore.sweep.points import Points

CLOCK, RATE, ROOM = "clock_mhz", "dram.gb_per_s", "memory.spm_kib"
RAYS = "equal bytes a cycle"
BOXES = "a smaller machine is no faster"
BELOW = 1 - 1e-9
EQUAL = frozenset(("traffic", "energy", "energy_j", "memory", "cycles", "peak_bytes"))
"""Metrics that are equal with equal bytes a cycle."""
SCALED = frozenset(("time", "seconds", "edp"))
"""Those that are in inverse proportion to the clock then."""
SHAPE = ("rows", "cols", "cores", "edge", "vector_lanes")
PRICES = ("spm_kib", "mac_pj", "spm_pj", "dram_pj", "vector_pj")
"""Facts that must not follow from clock and bandwidth; those of `SHAPE` not from the scratchpad either."""


@dataclass(frozen=True)
class _Axis:
    """A varied key: its number, its stride in the numbers of points, and its values."""

    number: int
    stride: int
    values: Floats

    def places(self, numbers: Ints) -> Ints:
        """The places of points along it."""
        return numbers // self.stride % len(self.values)


class PointLaws:
    """The laws of a sweep's points."""

    def __init__(self, points: Points, machines: GridMachines, facts: PointFacts, goals: Sequence[MetricGoal]):
        self._points, self._facts, self._goals = points, facts, goals
        space = machines.space
        self._axes = {
            axis.target: _Axis(number, prod(space.sizes[number + 1 :]), np.array(axis.values, np.float64))
            for number, axis in enumerate(points.grid.axes)
            if axis.place == "hardware" and axis.target in (CLOCK, RATE, ROOM) and axis.is_numeric
        }
        self._streams: dict[int, Floats] = {}

    def implied(self, number: int, known: Numbers, rows: RowFloors, numbers: Ints) -> Iterator[Implied]:
        """What a priced point, whose numbers are `known`, says of points in ascending order that have its program."""
        own = np.array([number], np.int64)
        laws = (
            (RAYS, self._ray, (CLOCK, RATE), (*SHAPE, *PRICES)),
            (BOXES, self._box, (CLOCK, RATE, ROOM), SHAPE),
        )
        for name, law, keys, fixed in laws:
            varied = {self._axes[key].number for key in keys if key in self._axes}
            apart = all(varied.isdisjoint(self._facts.axes(fact)) for fact in fixed)
            found = law(own, known, rows, numbers) if apart else None
            if found is not None and len(found[0]):
                yield Implied(*found, name)

    def _ray(self, own: Ints, known: Numbers, rows: RowFloors, numbers: Ints) -> tuple[Ints, Floats] | None:
        """Bounds of points with equal bytes a cycle."""
        if CLOCK not in self._axes or RATE not in self._axes:
            return None
        clock, rate = self._axes[CLOCK], self._axes[RATE]
        at, by = (int(axis.places(own)[0]) for axis in (clock, rate))
        quotient = as_written(float(rate.values[by])) / as_written(float(clock.values[at]))
        partner = {float(quotient * as_written(float(value))): n for n, value in enumerate(clock.values)}
        pairs = [(partner[float(value)], n) for n, value in enumerate(rate.values) if float(value) in partner]
        others = own[0] - at * clock.stride - by * rate.stride
        ray = np.array([others + n * clock.stride + m * rate.stride for n, m in pairs], np.int64)
        ray = ray[[self._is_exact(n, m, quotient) for n, m in pairs]]
        places, inside = _places_among(ray[ray != own[0]], numbers)
        slower = clock.values[at] / clock.values[clock.places(numbers[places])]
        bounds = np.full((len(places), len(self._goals)), -np.inf)
        for column, goal in enumerate(self._goals):
            amount = goal.amount(known)
            if amount is None or goal.most:
                continue
            if goal.metric.name in EQUAL:
                bounds[:, column] = amount
            elif goal.metric.name in SCALED:
                bounds[:, column] = amount * slower * BELOW
        assert len(places) == int(inside.sum())
        return places, bounds

    def _is_exact(self, clock: int, rate: int, quotient: object) -> bool:
        """Whether two values have exactly that quotient."""
        own = float(self._axes[RATE].values[rate]), float(self._axes[CLOCK].values[clock])
        return as_written(own[0]) / as_written(own[1]) == quotient

    def _box(self, own: Ints, known: Numbers, rows: RowFloors, numbers: Ints) -> tuple[Ints, Floats] | None:
        """Bounds of points with no larger scratchpad, channel or clock."""
        options = self._points.choices.options_of(int(own[0]))
        level = DEFAULT_LEVEL if options.opt_level is None else options.opt_level
        times = [column for column, goal in enumerate(self._goals) if goal.metric.name in ("time", "seconds")]
        taken = known.get("seconds_by_kind.matrix")
        if level != 0 or options.objective != "time" or not times or not isinstance(taken, float):
            return None
        if self._facts.of("cores", own)[0] != 1 or not self._axes:
            return None
        inside = self._below(own, numbers)
        places = np.flatnonzero(inside)
        hertz = float(self._facts.of("clock", own)[0]) * 1e6
        exact = (options.tolerance == 0) & (self._facts.of("clock", numbers[places]) * 1e6 == hertz)
        rounded = (taken - rows.rows.contractions / hertz) / (1 + options.tolerance)
        bounds = np.full((len(places), len(self._goals)), -np.inf)
        least = (self._streamed(rows, numbers[places]) + np.where(exact, taken, rounded)) * BELOW
        for column in times:
            if not self._goals[column].by_mac and not self._goals[column].most:
                bounds[:, column] = least
        return places, bounds

    def _below(self, own: Ints, numbers: Ints) -> Flags:
        """Which points have no larger scratchpad, channel and clock than one, and all else as it has."""
        inside = np.ones(len(numbers), np.bool_)
        rest, others = numbers.copy(), own.copy()
        for axis in self._axes.values():
            places, at = axis.places(numbers), axis.places(own)
            inside &= axis.values[places] <= axis.values[at]
            rest -= places * axis.stride
            others -= at * axis.stride
        return inside & (rest == others) & (numbers != own)

    def _streamed(self, rows: RowFloors, numbers: Ints) -> Floats:
        """The seconds of the streams of points."""
        known = self._streams.setdefault(id(rows), np.full(self._points.grid.count, np.nan))
        new = numbers[np.isnan(known[numbers])]
        if len(new):
            clock = self._facts.of("clock", new) * 1e6
            known[new] = rows.times(self._facts.tables(new)).streams / clock
        return known[numbers]


def _places_among(some: Ints, numbers: Ints) -> tuple[Ints, Flags]:
    """The places of numbers among others in ascending order, of those that are there, and which these are."""
    some = np.sort(some)
    places = np.searchsorted(numbers, some)
    inside = places < len(numbers)
    inside[inside] = numbers[places[inside]] == some[inside]
    return places[inside], inside
