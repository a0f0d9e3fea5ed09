"""The points of a sweep as a table that is drawn, or written for `npuc plot`."""

from __future__ import annotations

from npuc.compiler.explore.plot.table import PlotTable
from npuc.compiler.explore.sweep.compare import Comparison


def sweep_table(title: str, comparison: Comparison) -> PlotTable:
    """All points with their keys, totals, movement and error; `devices` that share the step, `work` in MACs."""
    grid, rows = comparison.grid, list[dict[str, object]]()
    for number, point in enumerate(comparison.points):
        row = point.row(grid.totals)
        if grid.is_shared:
            row["devices"] = grid.devices_of(point.index)
        if comparison.by_mac:
            row["work"] = comparison.works[number]
        rows.append(row)
    keys = {axis.key: axis.values for axis in grid.axes}
    return PlotTable(title, keys, tuple(rows), comparison.quantity.name, by_mac=comparison.by_mac)
