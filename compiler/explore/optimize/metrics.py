"""
The metrics of a point that are goals or under constraints: those of a sweep, and those of the machine alone.

`area` and `cost` follow from the machine, without any compilation; `power` is the energy of a step, dynamic and static,
over its time, as reports have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from npuc.compiler.core.errors import Location, UsageError, did_you_mean
from npuc.compiler.explore.plot.metrics import METRICS, Metric, metric_named
from npuc.compiler.explore.sweep.grid import Grid
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.report.as_csv import flat_totals, total_names

AREA, COST, POWER = "area", "cost", "power"
OF_MACHINE = (AREA, COST)
"""The metrics that the machine says without a compilation."""
NUMBERS = {AREA: "area_mm2", COST: "memory_usd", POWER: "watts"}
"""The names of these metrics' numbers in rows."""
WORDS = tuple(METRICS)
"""The metrics with a short name."""
MORE_IS_BETTER = ("utilization", "tops_per_w", "tops_per_mm2")
"""Those of which only the most is worth asking for."""


def metric_of(name: str, option: str, location: Location | None = None, line: str | None = None) -> Metric:
    """A metric by its name. Raises `UsageError` for any other word; `option` is what has it."""
    known = [*WORDS, *(one for one in total_names(assumed=True) if one not in WORDS)]
    found = metric_named(name, known)
    if found is None:
        hint = did_you_mean(name, known) or f"for example {', '.join(WORDS)}, or a column of npuc sweep"
        place = "" if location is not None else f"{option}: "
        raise UsageError(f"{place}there is no metric '{name}'", location=location, source_line=line, hint=hint)
    return found


def numbers_of(point: SweepPoint, grid: Grid, machine: Mapping[str, float | None]) -> dict[str, Any]:
    """
    The numbers of a point by name: its totals, what the machine says (`machine`, by metric), how many devices share the
    step, and its MACs on all of them.
    """
    totals = point.totals
    assert totals is not None, "the point fits"
    devices = grid.devices_of(point.index)
    found: dict[str, Any] = {**flat_totals(totals), **{NUMBERS[name]: value for name, value in machine.items()}}
    found["devices"] = devices
    found["work"] = None if totals.macs is None else totals.macs * devices
    found[NUMBERS[POWER]] = None
    if totals.energy_j is not None and totals.seconds:
        found[NUMBERS[POWER]] = (totals.energy_j + (totals.energy.get("static") or 0.0)) / totals.seconds
    return found


def is_by_mac(grid: Grid) -> bool:
    """
    Whether times, traffic and energies are those of a MAC: where a parameter of the network is varied, points may not
    do the same work.
    """
    return any(axis.place == "define" and len(axis.values) > 1 for axis in grid.axes)
