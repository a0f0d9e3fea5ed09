"""What reuse saves, as a picture: the traffic of an iteration by the capacity of the cache, and the rest by scope."""

from __future__ import annotations

from msgspec.structs import replace

from npuc.compiler.core.drawing.axes import legend_beside
from npuc.compiler.core.drawing.figure import SMALL, WIDTH, Axes, picture
from npuc.compiler.core.drawing.palette import INK, QUIET, WAITING, series_colour
from npuc.compiler.report.reuse import ReuseReport
from npuc.compiler.report.text.quantities import bytes_cell, bytes_unit

MIB = 1 << 20
TRAFFIC = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "bytes"))
HEIGHT = 4.6


def draw_reuse(report: ReuseReport, kind: str) -> bytes:
    """The picture as a file of a kind (`svg`, `png`, `pdf`)."""
    saved = 1 - report.traffic_bytes / report.without_bytes if report.without_bytes else 0.0
    title = f"A cache of {bytes_cell(report.capacity_bytes)} saves {saved:.0%} of the DRAM traffic of {report.network}"
    if report.next is not None:
        more = report.next.saved_bytes / report.without_bytes
        title += f"; {bytes_cell(report.next.capacity_bytes)} save {more:.0%} more"
    about = f"{report.source} on {report.machine}; each scope saves what narrower ones do not"

    def fill(axes: Axes) -> None:
        points = list(report.curve)
        if points and points[-1].capacity_bytes < report.capacity_bytes:  # more saves no more
            points.append(replace(points[-1], capacity_bytes=report.capacity_bytes))
        room, room_name = bytes_unit(points[-1].capacity_bytes if points else MIB)
        size, name = next((unit for unit in TRAFFIC if report.without_bytes >= unit[0]), TRAFFIC[-1])
        sizes = [point.capacity_bytes / room for point in points]
        low = [point.traffic_bytes / size for point in points]
        axes.stackplot(sizes, low, colors=[WAITING], labels=["traffic that is left"])
        for number, scope in enumerate(report.scopes):
            values = [point.captured_bytes.get(scope.scope, 0) / size for point in points]
            if any(values):
                high = [a + b for a, b in zip(low, values, strict=True)]
                axes.fill_between(sizes, low, high, color=series_colour(number), linewidth=0, label=scope.scope)
                low = high
        axes.axvline(report.capacity_bytes / room, color=INK, linewidth=1.2)
        top = axes.get_xaxis_transform()
        here = {"textcoords": "offset points", "fontsize": SMALL, "color": INK, "va": "top"}
        axes.annotate(report.machine, (report.capacity_bytes / room, 0.98), (4, 0), xycoords=top, **here)
        axes.axhline(
            report.compulsory_bytes / size, color=QUIET, linewidth=1.0, linestyle=(0, (4, 3)), label="compulsory"
        )
        if len(sizes) > 1 and sizes[0] > 0:
            axes.set_xscale("log", base=2)
            axes.set_xlim(sizes[0], sizes[-1])
        axes.set_ylim(0, 1.1 * report.without_bytes / size or 1.0)
        axes.set_xlabel(f"capacity of the cache, {room_name}")
        axes.set_ylabel(f"DRAM traffic of an iteration, {name}")
        handles, labels = axes.get_legend_handles_labels()
        legend_beside(axes, "saved by reuse", handles[::-1], labels[::-1])

    return picture(kind, (WIDTH, HEIGHT), lambda figure: fill(figure.subplots()), title=title, about=about)
