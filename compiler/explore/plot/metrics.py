"""The metrics of a row of a table: its numbers by name, those that have a short name, and their units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from npuc.compiler.report.text.quantities import BYTE_UNITS, ENERGY_UNITS, TIME_UNITS
from npuc.compiler.report.text.summary.assumed import MEASURES

Numbers: TypeAlias = Mapping[str, Any]
Units: TypeAlias = Sequence[tuple[float, str]]
_EDP_UNITS = tuple((scale, f"{name}·s") for scale, name in ENERGY_UNITS)
_COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1.0, ""))
_SHARES = ((0.01, "%"),)
GIGA = 1e9
"""Values per MAC are drawn per this many MACs."""


@dataclass(frozen=True)
class Metric:
    """
    A quantity of a row: its name, what it is called in a picture, and the sizes of its units, the largest first.

    `parts` are the numbers whose sum it is, or product; over several devices it is `summed`, or that of one device.
    """

    name: str
    title: str
    units: Units
    parts: tuple[str, ...]
    multiplied: bool = False
    summed: bool = False
    more_is_better: bool = False

    def of(self, numbers: Numbers, by_mac: bool = False) -> float | None:
        """Its value in a row, per MAC if asked for; None where the row does not have it."""
        found = [numbers.get(part) for part in self.parts]
        known = [float(one) for one in found if isinstance(one, int | float)]
        if len(known) < len(found):
            return None
        value = known[0] * known[1] if self.multiplied else sum(known)
        if self.summed:
            value *= numbers.get("devices") or 1
        work = numbers.get("work") if by_mac and self.name in PER_MAC else 1
        return value / work if work else None

    def unit(self, values: Sequence[float], by_mac: bool = False) -> tuple[float, str]:
        """The size of the unit for values, in which the largest is at least 1, and its name."""
        work = GIGA if by_mac and self.name in PER_MAC else 1.0
        largest = work * max(map(abs, values), default=0.0)
        size, name = next((unit for unit in self.units if largest >= unit[0]), self.units[-1])
        return size / work, name

    def text(self, value: float, by_mac: bool = False) -> str:
        """A value with its unit, three digits."""
        size, name = self.unit([value], by_mac)
        return f"{value / size:,.3g} {name}".strip()

    def heading(self, by_mac: bool = False) -> str:
        """What it is called, `a GMAC` where it is."""
        return f"{self.title} a GMAC" if by_mac and self.name in PER_MAC else self.title


_KNOWN = (
    Metric("time", "time", TIME_UNITS, ("seconds",)),
    Metric("traffic", "DRAM traffic", BYTE_UNITS, ("dram_read_bytes", "dram_write_bytes"), summed=True),
    Metric("energy", "energy", ENERGY_UNITS, ("energy_j",), summed=True),
    Metric("edp", "energy x delay", _EDP_UNITS, ("energy_j", "seconds"), multiplied=True, summed=True),
    Metric("memory", "peak memory", BYTE_UNITS, ("peak_bytes",)),
    Metric("area", "chip area", ((1.0, "mm2"),), ("area_mm2",), summed=True),
    Metric("cost", "memory cost", ((1.0, "USD"),), ("memory_usd",), summed=True),
    Metric("power", "power", ((1.0, "W"), (1e-3, "mW")), ("watts",), summed=True),
    Metric("utilization", "utilization", _SHARES, ("utilization",), more_is_better=True),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _KNOWN}
"""The metrics with a short name."""
PER_MAC = ("time", "traffic", "energy", "edp")
"""Those that are drawn per MAC where points do not all do the same work."""


def metric_named(name: str, numbers: Sequence[str]) -> Metric | None:
    """A metric by its short name, or any of the numbers of rows; None for anything else."""
    if name in METRICS:
        return METRICS[name]
    if name not in numbers:
        return None
    if name.startswith("assumed."):
        return Metric(name, f"assumed share of {MEASURES[name.removeprefix('assumed.')]}", _SHARES, (name,))
    units: Units = _COUNTS
    if "seconds" in name:
        units = TIME_UNITS
    elif name.endswith("_bytes") or name.startswith("memory."):
        units = BYTE_UNITS
    elif name.endswith("_j") or name.startswith("energy."):
        units = ENERGY_UNITS
    return Metric(name, name.replace("_", " "), units, (name,))
