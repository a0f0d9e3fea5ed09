"""Compares the points of a sweep: their order, the best point, and the influence of each key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from npuc.compiler.core.options import objective_named
from npuc.compiler.explore.sweep.devices import FLAGS
from npuc.compiler.explore.sweep.grid import Axis, Grid
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.report.text.quantities import BYTE_UNITS, ENERGY_UNITS, TIME_UNITS
from npuc.compiler.report.totals import Totals

Units = tuple[tuple[float, str], ...]
NEAR = 1.05
"""Points whose cost is at most this multiple of the best count as equally good."""


@dataclass(frozen=True)
class Quantity:
    """A quantity of the totals, of which less is better: its name, a word for having the least of it, its units."""

    name: str
    title: str
    units: Units

    def of(self, totals: Totals) -> float | None:
        """Its value; None where the backend does not model it."""
        moved = totals.dram_read_bytes, totals.dram_write_bytes
        match self.name:
            case "traffic":
                return None if None in moved else sum(part or 0 for part in moved)
            case "energy":
                return totals.energy_j
            case "memory":
                return totals.peak_bytes
            case "edp":
                known = totals.energy_j is not None and totals.seconds is not None
                return (totals.energy_j or 0.0) * (totals.seconds or 0.0) if known else None
            case _:
                return totals.seconds

    def unit(self, value: float) -> tuple[float, str]:
        """The unit in which a value is at least 1, and its size."""
        return next((unit for unit in self.units if value >= unit[0]), self.units[-1])

    def text(self, value: float) -> str:
        """A value with its unit, four digits."""
        scale, unit = self.unit(value)
        return f"{value / scale:,.4g} {unit}" if value else f"0 {self.units[0][1]}"


_EDP_UNITS = tuple((scale, f"{name}·s") for scale, name in ENERGY_UNITS)
TIME = Quantity("time", "time", TIME_UNITS)
TRAFFIC = Quantity("traffic", "DRAM traffic", BYTE_UNITS)
ENERGY = Quantity("energy", "energy", ENERGY_UNITS)
MEMORY = Quantity("memory", "peak memory", BYTE_UNITS)
EDP = Quantity("edp", "energy x delay", _EDP_UNITS)
SUMMED = (TRAFFIC, ENERGY, EDP)
"""The quantities that add up over the devices of a point; totals are those of one device."""
BY_OBJECTIVE = {"time": TIME, "traffic": TRAFFIC, "energy": ENERGY, "edp": EDP}


@dataclass(frozen=True)
class Comparison:
    """
    Points compared by a quantity, per MAC where they do not all do the same work, as at several batch sizes.

    `costs` are the values compared, None where there is none. Where several devices share a step, traffic and energy
    are those of all of them, and so is the work; `works` are its MACs.
    """

    grid: Grid
    quantity: Quantity
    points: Sequence[SweepPoint]
    by_mac: bool
    costs: tuple[float | None, ...]
    works: tuple[int | None, ...] = ()

    def amount(self, quantity: Quantity, number: int) -> float | None:
        """The value of a quantity at a point: summed over devices, except for time and memory per device."""
        return amount(self.grid, quantity, self.points[number])

    @cached_property
    def best(self) -> int | None:
        """The number of the first point that costs least; None without any."""
        return _least(range(len(self.costs)), self.costs)

    @cached_property
    def worst(self) -> int | None:
        """The number of the first point that costs most; None without any."""
        known = [number for number, cost in enumerate(self.costs) if cost is not None]
        return max(known, key=lambda number: self.costs[number] or 0.0, default=None)

    def best_of(self, numbers: Iterable[int]) -> int | None:
        """The one of some points that costs least; None where none has a cost."""
        return _least(numbers, self.costs)

    def ratio(self, number: int) -> float | None:
        """The cost of a point over that of the best one."""
        cost, best = self.costs[number], self.best
        least = None if best is None else self.costs[best]
        return cost / least if cost is not None and least else None

    def near(self) -> dict[str, tuple[float, float]]:
        """
        The least value of each numeric hardware key that is nearly as good as the best point, the others as there,
        and its cost over the best; where it is less than the best point's.
        """
        found: dict[str, tuple[float, float]] = {}
        if self.best is None:
            return found
        for number, axis in enumerate(self.grid.axes):
            if axis.place != "hardware" or not axis.is_numeric:
                continue
            line = self._line(self.best, number)
            ratios = [(axis.values[place], self.ratio(one)) for place, one in enumerate(line)]
            good = [(value, ratio) for value, ratio in ratios if ratio is not None and ratio <= NEAR]
            if good and min(good)[0] < axis.values[_place(self.grid, self.best, number)]:
                found[axis.key] = min(good)
        return found

    def effects(self) -> dict[str, float]:
        """The largest effect of each key on the cost, the others unchanged: largest cost over smallest."""
        found: dict[str, float] = {}
        for number, axis in enumerate(self.grid.axes):
            if len(axis.values) < 2:
                continue
            stride = _stride(self.grid, number)
            found[axis.key] = 1.0
            for start in range(len(self.points)):
                if start // stride % len(axis.values):
                    continue
                line = range(start, start + stride * len(axis.values), stride)
                costs = [cost for cost in (self.costs[one] for one in line) if cost]
                if costs:
                    found[axis.key] = max(found[axis.key], max(costs) / min(costs))
        return found

    def _line(self, point: int, axis: int) -> range:
        """The points that differ from one along an axis alone."""
        stride = _stride(self.grid, axis)
        start = point - _place(self.grid, point, axis) * stride
        return range(start, start + stride * len(self.grid.axes[axis].values), stride)


def _least(numbers: Iterable[int], costs: Sequence[float | None]) -> int | None:
    known = [(cost, number) for number in numbers if (cost := costs[number]) is not None]
    return min(known, default=(0.0, None))[1]


def _stride(grid: Grid, axis: int) -> int:
    """The distance in numbers of neighbours along an axis."""
    return Grid(grid.axes[axis + 1 :]).count


def _place(grid: Grid, point: int, axis: int) -> int:
    """The index of a point's value along an axis."""
    return point // _stride(grid, axis) % len(grid.axes[axis].values)


def compare(grid: Grid, points: Sequence[SweepPoint], objective: str) -> Comparison:
    """All points of a grid, compared by what is minimised."""
    quantity, works = BY_OBJECTIVE[objective_named(objective)], _works(grid, points)
    known = {work for work in works if work is not None}
    unknown = any(p.totals is not None and work is None for p, work in zip(points, works, strict=True))
    by_mac = len(known) > 1 and 0 not in known and not unknown
    costs: list[float | None] = []
    for point, work in zip(points, works, strict=True):
        value = amount(grid, quantity, point)
        macs = work if by_mac else 1
        costs.append(None if value is None or not macs else value / macs)
    return Comparison(grid, quantity, points, by_mac, tuple(costs), tuple(works))


def amount(grid: Grid, quantity: Quantity, point: SweepPoint) -> float | None:
    """The value of a quantity at a point: summed over devices, except for time and memory per device."""
    value = None if point.totals is None else quantity.of(point.totals)
    return value * grid.devices_of(point.index) if value is not None and quantity in SUMMED else value


def _works(grid: Grid, points: Sequence[SweepPoint]) -> list[int | None]:
    """
    The MACs of each point's step, None where they are not known.

    Devices may do the same work twice, so a step's MACs are the least over points that differ only in how it is shared.
    """
    alone = [axis.key for axis in grid.axes if not (axis.place == "option" and axis.target in FLAGS)]
    least: dict[str, int] = {}
    keys = [repr([point.values[key] for key in alone]) for point in points]
    for point, key in zip(points, keys, strict=True):
        if point.totals is not None and point.totals.macs is not None:
            work = point.totals.macs * grid.devices_of(point.index)
            least[key] = min(work, least.get(key, work))
    both = zip(points, keys, strict=True)
    return [least.get(key) if p.totals is not None and p.totals.macs is not None else None for p, key in both]


def axis_names(axes: Sequence[Axis]) -> str:
    """Axes with the number of their values: `memory.spm_kib (8) x dram.gb_per_s (3)`."""
    return " x ".join(f"{axis.key} ({len(axis.values):,})" for axis in axes)
