"""The study as tables, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from npuc.compiler.analysis.interconnect.fluid.routes import ROUTINGS
from npuc.compiler.analysis.interconnect.fluid.traffic import ALGORITHMS
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.studies.congestion.settings import SOURCES
from npuc.studies.congestion.study import CollectiveTime, CongestionResults, CongestionRow
from npuc.studies.rows import rows_csv, rows_json

if TYPE_CHECKING:
    from rich.console import Console

NAMES = ("claim", "setting", "published", "ours", "verdict", "bound", "reproduced", "note")


def to_json(study: CongestionResults) -> str:
    """The rows, collectives and patterns by scheme, curves over time, and the constants."""
    constants = [
        {"key": key, "value": value, "meaning": SOURCES[key][0], "source": SOURCES[key][1]}
        for key, value in study.setup.values().items()
    ]
    tables = {
        "rows": [_cells(row) for row in study.rows],
        "collectives": [asdict(one) for one in study.collectives],
        "patterns": [asdict(one) for one in study.patterns],
        "curves": [asdict(one) for one in study.curves],
        "constants": constants,
    }
    return rows_json("congestion", study.setup.preset, tables)


def to_csv(study: CongestionResults) -> str:
    """The rows, one per line."""
    return rows_csv(NAMES, [_cells(row) for row in study.rows])


def _cells(row: CongestionRow) -> dict[str, object]:
    cells = asdict(row) | {"reproduced": row.reproduced, "published": row.published or None}
    cells["verdict"] = None if row.bound is None else row.verdict
    return {name: cells[name] for name in NAMES}


def print_study(study: CongestionResults, console: Console) -> None:
    """The claims, the collectives, the patterns, and a verdict."""
    text = f"Congestion control under collectives (Khan et al., HOTI 2022), {study.setup.fabric.all_hosts:,} hosts: "
    print_note(text + "claim, published, ours", console, style="bold")
    console.print()
    print_grid(columns_of([*claim_lines(study)], left=(0, 1, 2, 5), ranks={4: 2, 5: 1}), console, gap=2)
    print_grid(columns_of([*collective_lines(study)], left=(0, 1), ranks={2: 1}), console, gap=2)
    print_grid(columns_of([*pattern_lines(study)], left=(0, 8), ranks={3: 2, 4: 1}), console, gap=2)
    for name, words in summary(study):
        print_line(name, words, console)


def claim_lines(study: CongestionResults) -> Iterator[Sequence[str]]:
    """A line a claim."""
    yield "claim", "setting", "published", "ours", "bound", ""
    known = {True: "", False: "not reproduced", None: ""}
    for row in study.rows:
        bound = "" if row.bound is None else f"{row.verdict} {row.bound:g}"
        ours = "0" if abs(row.ours) < 1e-6 else f"{row.ours:.3g}"
        yield row.claim, row.setting, row.published, ours, bound, known[row.reproduced] or row.note


def collective_lines(study: CongestionResults) -> Iterator[Sequence[str]]:
    """A line for each collective and routing: microseconds by scheme."""
    yield "microseconds", "routes by", "model", *(law.name for law in study.setup.laws)
    for algorithm in ALGORITHMS:
        for routing in reversed(ROUTINGS):
            own = [one for one in study.collectives if (one.algorithm, one.routing) == (algorithm, routing)]
            yield collective_line(own)


def collective_line(times: Sequence[CollectiveTime]) -> Sequence[str]:
    """The line of one collective and routing, whose times are in the order of schemes."""
    first = times[0]
    return first.algorithm, first.routing, f"{first.model_us:,.1f}", *(f"{one.us:,.1f}" for one in times)


def pattern_lines(study: CongestionResults) -> Iterator[Sequence[str]]:
    """A line for each scheme."""
    yield (
        "scheme", "incast,\nus", "pauses", "paused,\nms", "waits,\nKB", "victim,\n%", "local,\n%",
        "others,\n%", "deadlock",
    )  # fmt: skip
    for one in study.patterns:
        shares = (f"{100 * share:.1f}" for share in (one.victim, one.local, one.remote))
        yield (
            one.scheme, f"{one.incast_us:,.0f}", f"{one.pauses:,}", f"{one.paused_ms:.2f}",
            f"{one.queue_kb:,.0f}", *shares, f"{len(one.deadlock)} ports" if one.deadlock else "none",
        )  # fmt: skip


def summary(study: CongestionResults) -> Iterator[tuple[str, str]]:
    """The lines below the tables."""
    ring = next((one.deadlock for one in study.patterns if one.deadlock), ())
    if ring:
        yield "deadlock", "; ".join(ring) + "; and again"
    judged = [row for row in study.rows if row.reproduced is not None]
    missed = [f"{row.claim} ({row.setting})" for row in judged if not row.reproduced]
    text = f"{len(judged) - len(missed)} of {len(judged)} claims hold"
    yield "verdict", text + (f"; not {'; '.join(missed)}" if missed else "")
