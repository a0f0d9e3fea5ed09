"""
What a point costs at least, without compiling it: bounds from the work of its program and facts of its machine.

Area and cost of a machine are exact. Of the backends `cycle`, `roofline` and `maestro` the time is at least that of all
multiply-accumulates at the machine's peak, and the energy at least that of them; everything else of time and energy
only adds to these. Of `cycle` with systolic arrays (`os`, `ws`, `is`) each row of the step has bounds of its own, which
hold for any schedule (`step_rows.py`), so that time, traffic and energy are at least their sums. Tests compare all of
these with the costs of random points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from npuc.backends.energy import memory_usd
from npuc.compiler.explore.optimize.area import Areas
from npuc.compiler.explore.optimize.constraints import MetricConstraint
from npuc.compiler.explore.optimize.goals import MetricGoal
from npuc.compiler.explore.optimize.machine_facts import GridMachines, MachineFact
from npuc.compiler.explore.optimize.metrics import AREA, COST
from npuc.compiler.explore.optimize.point_facts import PointFacts
from npuc.compiler.explore.optimize.point_laws import PointLaws
from npuc.compiler.explore.optimize.row_floors import RowFloors
from npuc.compiler.explore.optimize.work import StepWork, Works
from npuc.compiler.explore.pareto.front import Flags, Floats, Ints
from npuc.compiler.explore.pareto.priced import Implied
from npuc.compiler.explore.plot.metrics import Numbers
from npuc.compiler.explore.sweep.points import Points

BELOW = 1 - 1e-9
"""Bounds that are sums of floats are lowered by this factor: no rounding puts them above a cost."""
MOST_CLASSES = 64
"""The most classes whose work is found before the first point; that of others when a point of theirs is priced."""
NEVER_NEGATIVE = frozenset(("memory", "power", "cycles"))
MOST_OF = {"utilization": 1.0}
"""What a metric is at most."""


class PointFloors:
    """The bounds of goals and constraints of a sweep's points (`explore/pareto/priced.py`)."""

    def __init__(
        self,
        points: Points,
        goals: Sequence[MetricGoal],
        constraints: Sequence[MetricConstraint],
        machines: GridMachines,
    ):
        self._points, self._goals, self._constraints = points, goals, constraints
        self.machines, self.space = machines, machines.space
        self.works = Works(points, self.space)
        self.areas, self.costs = Areas(machines), MachineFact(machines, memory_usd)
        self.facts = PointFacts(points, machines)
        self._row_floors: dict[int, RowFloors] = {}
        self.laws = PointLaws(points, machines, self.facts, goals)
        self.priced: Mapping[int, Numbers] = {}
        """The numbers of points that were priced."""
        self._devices = _devices(points)
        named = {goal.metric.name for goal in goals} | {one.metric.name for one in constraints}
        self._works_matter = bool(named & {"traffic", "time", "energy", "edp", "seconds", "energy_j"})
        if self._works_matter and self.works.count <= MOST_CLASSES:
            self.works.learn(range(self.works.count))

    def learn(self, numbers: Sequence[int]) -> bool:
        """Find the work of the classes of points that are about to be priced."""
        if not self._works_matter or self.works.count <= MOST_CLASSES:
            return False
        return self.works.learn(self.works.classes(np.array(numbers, np.int64)).tolist())

    def implied(self, priced: Sequence[int], among: Ints) -> Iterator[Implied]:
        """What priced points say of others, in ascending order (`point_laws.py`)."""
        for number in priced:
            own = np.array([number], np.int64)
            work = self.works.known.get(int(self.works.classes(own)[0]))
            rows = None if work is None or number not in self.priced else self.rows_of(work, own)
            if rows is not None and self._works_matter and self.facts.are_small(own):
                yield from self.laws.implied(number, self.priced[number], rows, among)

    def machine_numbers(self, number: int) -> dict[str, float | None]:
        """What the machine of a point says, by metric."""
        own = np.array([number], np.int64)
        found = {AREA: float(self.areas.of(own)[0]), COST: float(self.costs.of(own)[0])}
        return {name: None if np.isnan(value) else value for name, value in found.items()}

    def of(self, numbers: Ints) -> Floats:
        """What each goal of each point is at least, [point, goal]."""
        low = self._lows(numbers, [goal.metric.name for goal in self._goals])
        found = np.full((len(numbers), len(self._goals)), -np.inf)
        macs = self._macs(numbers) if any(goal.by_mac for goal in self._goals) else np.ones(len(numbers))
        for column, goal in enumerate(self._goals):
            name = goal.metric.name
            if goal.most:
                if name in MOST_OF:
                    found[:, column] = -MOST_OF[name]
                elif name in (AREA, COST):
                    found[:, column] = -low[name]
            elif goal.by_mac and name in ("time", "traffic", "energy", "edp"):
                found[:, column] = low[name] / macs * BELOW
            else:
                found[:, column] = low[name]
        return np.where(np.isnan(found), -np.inf, found)

    def forbidden(self, numbers: Ints) -> Flags:
        """Which points break a constraint for certain."""
        away = np.zeros(len(numbers), np.bool_)
        for one in self._constraints:
            low = self._lows(numbers, [one.metric.name])[one.metric.name]
            away |= low > one.most
            if one.metric.name in (AREA, COST):
                away |= low < one.least
        return away

    def _lows(self, numbers: Ints, names: Sequence[str]) -> dict[str, Floats]:
        """The bounds of metrics; minus infinity, or NaN, where nothing is known."""
        found = {name: np.full(len(numbers), -np.inf) for name in names}
        if AREA in found and self.facts.fits(self.areas.size(numbers)):
            found[AREA] = self.areas.of(numbers) * self._devices_of(numbers)
        if COST in found and self.facts.is_small(self.costs, numbers):
            found[COST] = self.costs.of(numbers) * self._devices_of(numbers)
        asked = set(names)
        nothing = np.zeros(len(numbers))
        time = np.fmax(self._time(numbers), 0.0) if asked & {"time", "seconds", "edp"} else nothing
        energy = np.fmax(self._energy(numbers), 0.0) if asked & {"energy", "energy_j", "edp"} else nothing
        traffic = np.fmax(self._traffic(numbers), 0.0) if "traffic" in asked else nothing
        known = {
            "traffic": traffic,
            "time": time,
            "seconds": time,
            "energy": energy,
            "energy_j": energy,
            "edp": time * energy * BELOW,
        }
        found |= {name: known.get(name, nothing) for name in names if name in known or name in NEVER_NEGATIVE}
        return found

    def _time(self, numbers: Ints) -> Floats:
        """Seconds at least."""

        def of(work: StepWork, own: Ints) -> Floats:
            least = work.macs / self.facts.peak(own)
            rows = self.rows_of(work, own)
            if rows is not None:
                times = rows.times(self.facts.tables(own))
                least = np.fmax(least, (times.products + times.streams) / (self.facts.of("clock", own) * 1e6))
            return least * BELOW

        return self._by_class(numbers, of)

    def _energy(self, numbers: Ints) -> Floats:
        """Joules at least."""

        def of(work: StepWork, own: Ints) -> Floats:
            picojoules = work.macs * self.facts.of("mac_pj", own)
            rows = self.rows_of(work, own)
            if rows is not None:
                tables = self.facts.tables(own)
                picojoules += rows.accessed(tables) * np.nan_to_num(self.facts.of("spm_pj", own))
                picojoules += rows.moved(tables) * np.nan_to_num(self.facts.of("dram_pj", own))
            return 1e-12 * picojoules * BELOW

        return self._by_class(numbers, of)

    def _traffic(self, numbers: Ints) -> Floats:
        """Bytes between DRAM and chip at least; 0 where nothing is known."""

        def of(work: StepWork, own: Ints) -> Floats:
            rows = self.rows_of(work, own)
            return np.zeros(len(own)) if rows is None else rows.moved(self.facts.tables(own)) * BELOW

        return self._by_class(numbers, of)

    def rows_of(self, work: StepWork, numbers: Ints) -> RowFloors | None:
        """The bounds by rows of points with some work, if it has rows, and if machines say all that these need."""
        if work.rows is None or not len(numbers) or not self.facts.say_rows(numbers):
            return None
        if id(work) not in self._row_floors:
            self._row_floors[id(work)] = RowFloors(work.rows)
        return self._row_floors[id(work)]

    def _by_class(self, numbers: Ints, of: Callable[[StepWork, Ints], Floats]) -> Floats:
        """A bound of points by the work of their class."""
        found = np.full(len(numbers), -np.inf)
        if not self.facts.are_small(numbers):
            return found
        classes = self.works.classes(numbers)
        for one in _distinct(classes, self.works.count):
            work = self.works.known.get(one)
            own = classes == one
            if work is not None:
                found[own] = of(work, numbers[own])
        return np.where(np.isnan(found), -np.inf, found)

    def _macs(self, numbers: Ints) -> Floats:
        found, classes = np.full(len(numbers), np.inf), self.works.classes(numbers)
        for one in _distinct(classes, self.works.count):
            work = self.works.known.get(one)
            if work is not None:
                found[classes == one] = work.macs
        return found

    def _devices_of(self, numbers: Ints) -> Floats:
        axis, values = self._devices
        return values[self.space.places(numbers)[axis]] if axis >= 0 else np.full(len(numbers), values[0])


def _distinct(classes: Ints, count: int) -> list[int]:
    """The classes that there are among some."""
    if count == 1:
        return [0]
    return np.unique(classes).tolist() if count > len(classes) else np.flatnonzero(np.bincount(classes)).tolist()


def _devices(points: Points) -> tuple[int, Floats]:
    """The axis of the number of devices, -1 without one, and their numbers."""
    axes = points.grid.axes
    chosen = next((number for number, axis in enumerate(axes) if axis.target == "devices"), -1)
    values = axes[chosen].values if chosen >= 0 else (points.grid.devices,)
    return chosen, np.array(values, np.float64)
