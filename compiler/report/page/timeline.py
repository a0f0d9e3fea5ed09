"""The timeline of a step as spans on tracks."""

from __future__ import annotations

from collections.abc import Mapping

from npuc.compiler.report.page.model import Spans
from npuc.compiler.report.report import Report
from npuc.compiler.report.timeline.parts import tracks_of
from npuc.compiler.report.timeline.slices import slices_of

MOST = 20_000
"""The most spans of a page; the shortest are left out."""


def spans_of(report: Report, owners: Mapping[int, int], table: str) -> Spans | None:
    """The spans of a report, each of a row of a table; None without cycles or a clock."""
    clock = report.hardware.get("clock_mhz")
    if not isinstance(clock, int | float) or not clock or report.totals.cycles is None:
        return None
    tracks = {number: place for place, (number, _) in enumerate(tracks_of(report))}
    rows = {f"{row.name or row.op} {row.phase}": owners.get(row.index, -1) for row in report.ops}
    slices = sorted(slices_of(report, float(clock)), key=lambda one: one.begin - one.end)
    kept = sorted(slices[:MOST], key=lambda one: (one.begin, one.track))
    names = list(dict.fromkeys(one.name for one in kept))
    kinds = list(dict.fromkeys(one.category for one in kept))
    numbers, colours = {name: n for n, name in enumerate(names)}, {kind: n for n, kind in enumerate(kinds)}
    left_out = len(slices) - len(kept)
    return Spans(
        title="Timeline",
        table=table,
        tracks=[name for _, name in tracks_of(report)],
        names=names,
        kinds=kinds,
        track=[tracks[one.track] for one in kept],
        begin=[round(one.begin * 1e9) for one in kept],
        length=[round(one.end * 1e9) - round(one.begin * 1e9) for one in kept],
        name=[numbers[one.name] for one in kept],
        kind=[colours[one.category] for one in kept],
        row=[rows.get(one.name, -1) for one in kept],
        about=f"The {left_out:,} shortest spans are left out." if left_out else "",
    )
