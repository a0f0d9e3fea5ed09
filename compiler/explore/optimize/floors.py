"""
What a point costs at least, without compiling it: bounds from the work of its program and facts of its machine.

Area and cost of a machine are exact. Of the backends `cycle`, `roofline` and `maestro` the time is at least that of all
multiply-accumulates at the machine's peak, and the energy at least that of them; everything else of time and energy
only adds to these. Of systolic arrays (`os`, `ws`, `is`) more is known. A product of M x N x K whose dimensions on rows
and columns are of sizes a and b is computed in folds, ceil(a / rows) x ceil(b / cols) at least, however it is tiled,
and each fold streams the third dimension; cores share all folds. For each fold along the columns the tensor that has no
dimension on the columns is read again from SPM, or its sums are written again, and so for rows; an element has at least
`LEAST_BYTES`. Parameters that products read come from DRAM once, and their new values go there. Tests compare all of
these with the costs of random points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from npuc.backends.energy import memory_usd
from npuc.compiler.analysis.machine.array import PLACES, Dataflow, Group
from npuc.compiler.explore.optimize.area import Areas
from npuc.compiler.explore.optimize.constraints import MetricConstraint
from npuc.compiler.explore.optimize.goals import MetricGoal
from npuc.compiler.explore.optimize.machine_facts import GridMachines, MachineFact, codes_of
from npuc.compiler.explore.optimize.metrics import AREA, COST
from npuc.compiler.explore.optimize.work import StepWork, Works
from npuc.compiler.explore.pareto.front import Flags, Floats, Ints
from npuc.compiler.explore.pareto.openness import ENUMERATED
from npuc.compiler.explore.sweep.points import Points
from npuc.hardware import Hardware

BELOW = 1 - 1e-9
"""Bounds that are sums of floats are lowered by this factor: no rounding puts them above a cost."""
LEAST_BYTES = 1
MOST_CLASSES = 64
"""The most classes whose work is found before the first point; that of others when a point of theirs is priced."""
MOST_VALUES = 100_000
"""A fact of more machines is not asked for of all points."""
GROUPS: dict[Group, int] = {"m": 0, "n": 1, "k": 2}


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
        self._facts = {name: MachineFact(machines, _key(*keys)) for name, keys in KEYS_OF.items()}
        self._facts["dataflow"] = MachineFact(machines, _dataflow)
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
        if AREA in found and self._is_small(self.areas.size(numbers)):
            found[AREA] = self.areas.of(numbers) * self._devices_of(numbers)
        if COST in found and self._is_small(self._size(self.costs, numbers)):
            found[COST] = self.costs.of(numbers) * self._devices_of(numbers)
        asked = set(names)
        nothing = np.zeros(len(numbers))
        time = np.fmax(self._time(numbers), 0.0) if asked & {"time", "seconds", "edp"} else nothing
        energy = np.fmax(self._energy(numbers), 0.0) if asked & {"energy", "energy_j", "edp"} else nothing
        traffic = np.fmax(self._by_class(numbers, self._crossing), 0.0) if "traffic" in asked else nothing
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
            peak = self._peak(own)
            least = work.macs / peak
            rate = self._fact("gb_per_s", own) * 1e9 * self._fact("cores", own)
            least = np.fmax(least, self._crossing(work, own) / rate)
            dataflow = self._fact("dataflow", own)
            cycles = self._fact("cores", own) * self._fact("clock", own) * 1e6
            for number, (rows, cols, streamed) in enumerate(FLOWS):
                mine = (dataflow == number) & self._is_cycle(own)
                if mine.any():
                    folds = _folded(work, rows, cols, self._sides(own[mine]), work.sizes[:, streamed])
                    least[mine] = np.fmax(least[mine], folds / cycles[mine])
            return least * BELOW

        return self._by_class(numbers, of)

    def _energy(self, numbers: Ints) -> Floats:
        """Joules at least."""

        def of(work: StepWork, own: Ints) -> Floats:
            picojoules = work.macs * self._fact("mac_pj", own)
            crossing = self._crossing(work, own)
            picojoules += crossing * np.nan_to_num(self._fact("dram_pj", own) + self._fact("spm_pj", own))
            dataflow, spm = self._fact("dataflow", own), self._fact("spm_pj", own)
            for number, (rows, cols, streamed) in enumerate(FLOWS):
                mine = (dataflow == number) & self._is_cycle(own) & (spm > 0)
                if mine.any():
                    mine_sides = self._sides(own[mine])
                    other = work.sizes[:, streamed].astype(np.float64)
                    again = _folded(work, rows, None, mine_sides, work.sizes[:, cols] * other)
                    again += _folded(work, None, cols, mine_sides, work.sizes[:, rows] * other)
                    picojoules[mine] += LEAST_BYTES * again * spm[mine]
            return 1e-12 * picojoules * BELOW

        return self._by_class(numbers, of)

    def _crossing(self, work: StepWork, numbers: Ints) -> Floats:
        """Bytes between DRAM and chip at least; 0 where nothing is known."""
        size = self._fact("element_bytes", numbers)
        found = work.elements * np.where(np.isnan(size), work.element_bytes, size)
        return np.where(self._is_cycle(numbers) & ~np.isnan(self._fact("dataflow", numbers)), found, 0.0)

    def _by_class(self, numbers: Ints, of: Callable[[StepWork, Ints], Floats]) -> Floats:
        """A bound of points by the work of their class."""
        found = np.full(len(numbers), -np.inf)
        if not self._facts_are_small(numbers):
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

    def _peak(self, numbers: Ints) -> Floats:
        """Multiply-accumulates a second of machines, by their backends."""
        backends = self._backends_of(numbers)
        clock = self._fact("clock", numbers) * 1e6
        cycle = self._fact("rows", numbers) * self._fact("cols", numbers) * self._fact("cores", numbers) * clock
        roofline = self._fact("tflops", numbers) * 1e12 / self._fact("per_mac", numbers)
        maestro = self._fact("num_pes", numbers) * np.fmax(self._fact("lanes", numbers), 1.0) * clock
        found = np.select([backends == one for one in range(len(BOUNDED))], [cycle, roofline, maestro], np.inf)
        return np.where(np.isnan(found), np.inf, found)

    def _sides(self, numbers: Ints) -> Sides:
        return self._facts["rows"].table(numbers), self._facts["cols"].table(numbers)

    def _is_cycle(self, numbers: Ints) -> Flags:
        return self._backends_of(numbers) == BOUNDED.index("cycle")

    def _backends_of(self, numbers: Ints) -> Ints:
        """The numbers of the points' backends among those with bounds, -1 for others."""
        axes = self._points.grid.axes
        chosen = [number for number, axis in enumerate(axes) if axis.target == "backend"]
        names = [str(value) for value in axes[chosen[0]].values] if chosen else [self._points.backend]
        known = np.array([BOUNDED.index(name) if name in BOUNDED else -1 for name in names], np.int64)
        return known[codes_of(self.space, chosen, numbers)]

    def _devices_of(self, numbers: Ints) -> Floats:
        axis, values = self._devices
        return values[self.space.places(numbers)[axis]] if axis >= 0 else np.full(len(numbers), values[0])

    def _fact(self, name: str, numbers: Ints) -> Floats:
        return self._facts[name].of(numbers)

    def _facts_are_small(self, numbers: Ints) -> bool:
        return all(self._is_small(self._size(fact, numbers)) for fact in self._facts.values())

    def _size(self, fact: MachineFact, numbers: Ints) -> int:
        """On how many combinations of values a fact depends."""
        fact.of(numbers[:1])
        return fact.size

    def _is_small(self, size: int) -> bool:
        return size <= MOST_VALUES or self.space.count > ENUMERATED  # of more points some are asked about


Sides: TypeAlias = tuple[tuple[Floats, Ints], tuple[Floats, Ints]]
"""Rows and columns of arrays: their values, and the number of each point's value."""
BOUNDED = ("cycle", "roofline", "maestro")
"""The backends of which bounds are known."""
NEVER_NEGATIVE = frozenset(("memory", "power", "cycles"))
MOST_OF = {"utilization": 1.0}
"""What a metric is at most."""
NUMBERED: tuple[Dataflow, ...] = ("os", "ws", "is")
"""The dataflows whose folds are known."""
FLOWS = tuple(tuple(GROUPS[group] for group in PLACES[name]) for name in NUMBERED)
"""Of each the numbers of the dimensions on rows, on columns, and of the streamed one."""
KEYS_OF: dict[str, tuple[str, ...]] = {
    "rows": ("array.rows",),
    "cols": ("array.cols",),
    "cores": ("array.cores",),
    "clock": ("clock_mhz",),
    "tflops": ("compute.tflops",),
    "per_mac": ("compute.ops_per_mac",),
    "num_pes": ("maestro.num_pes",),
    "lanes": ("maestro.num_simd_lanes",),
    "mac_pj": ("energy.mac_pj",),
    "spm_pj": ("energy.spm_pj_per_byte",),
    "dram_pj": ("energy.dram_pj_per_byte",),
    "gb_per_s": ("dram.gb_per_s",),
    "element_bytes": ("memory.element_bytes",),
}


def _key(path: str) -> Callable[[Hardware], float | None]:
    """What reads a key, written, by default or derived."""

    def read(machine: Hardware) -> float | None:
        value = machine.known(path)
        return None if not isinstance(value, int | float) else float(value)

    return read


def _dataflow(machine: Hardware) -> float | None:
    """The number of a systolic array's dataflow whose folds are known; None of others, and fed from registers."""
    name = machine.get("array.dataflow")
    if machine.written("array.overlap") or name not in NUMBERED:
        return None
    return float([*NUMBERED].index(name))


def _folded(work: StepWork, rows: int | None, cols: int | None, sides: Sides, each: Ints | Floats) -> Floats:
    """For arrays of such sides: over all products, folds along rows and columns, times what each fold takes."""
    along: list[Floats] = []
    for dim, (values, _) in zip((rows, cols), sides, strict=True):
        folds = np.ones((len(work.sizes), len(values)))
        along.append(folds if dim is None else np.ceil(work.sizes[:, dim, None] / values))
    total = (along[0] * (work.counts * each)[:, None]).T @ along[1]
    return total[sides[0][1], sides[1][1]]


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
