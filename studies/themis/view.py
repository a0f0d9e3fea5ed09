"""The study as tables, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from npuc.compiler.analysis.interconnect.chunks.policies import POLICIES
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.studies.rows import rows_csv, rows_json
from npuc.studies.themis.study import ThemisResults, ThemisRow

if TYPE_CHECKING:
    from rich.console import Console

NAMES = ("claim", "setting", "published", "ours", "tolerance", "reproduced", "note")


def to_json(study: ThemisResults) -> str:
    """The rows, the networks by policy, and npuc's programs by network."""
    tables = {
        "rows": [_cells(row) for row in study.rows],
        "topologies": [asdict(one) for one in study.topologies],
        "programs": [asdict(one) | {"speedup": one.speedup} for one in study.programs],
    }
    return rows_json("themis", study.latency, tables)


def to_csv(study: ThemisResults) -> str:
    """The rows, one per line."""
    return rows_csv(NAMES, [_cells(row) for row in study.rows])


def _cells(row: ThemisRow) -> dict[str, object]:
    cells = asdict(row) | {"reproduced": row.reproduced}
    return {name: cells[name] for name in NAMES}


def print_study(study: ThemisResults, console: Console) -> None:
    """The claims, the networks, npuc's programs, and a verdict."""
    text = f"Chunks of collectives (Rashidi et al., ISCA 2022), latency {study.latency}: claim, published, ours"
    print_note(text, console, style="bold")
    console.print()
    lines = [("claim", "setting", "published", "ours", "within", ""), *map(_line, study.rows)]
    print_grid(columns_of(lines, left=(0, 1, 5), ranks={5: 1, 4: 2}), console, gap=2)
    print_grid(columns_of([*topology_lines(study)], left=(0,), ranks={7: 1, 8: 1, 9: 1}), console, gap=2)
    print_grid(columns_of([*program_lines(study)], left=(0, 1)), console, gap=2)
    for name, words in summary(study):
        print_line(name, words, console)


def _line(row: ThemisRow) -> Sequence[str]:
    known = {True: "", False: "not reproduced", None: "not judged" if row.published is not None else row.note}
    return (
        row.claim,
        row.setting,
        "-" if row.published is None else f"{row.published:g}",
        f"{row.ours:.4g}",
        "" if row.tolerance is None else f"{row.tolerance:g}",
        known[row.reproduced],
    )


def topology_lines(study: ThemisResults) -> Iterator[Sequence[str]]:
    """A line for each network: utilisation, speed-up, and what is over the lower bound, by policy."""
    short = [policy.removeprefix("themis-") for policy in POLICIES]
    heads = [f"use, %\n{name}" for name in short] + [f"speed-up\n{name}" for name in short[1:]]
    yield ("means over sizes", *heads, *(f"over bound, %\n{name}" for name in short))
    for name in dict.fromkeys(one.topology for one in study.topologies):
        own = [one for one in study.topologies if one.topology == name]
        use = [f"{100 * one.utilisation:.1f}" for one in own]
        gains = [f"{one.speedup:.2f}" for one in own[1:]]
        yield (name, *use, *gains, *(f"{100 * one.gap:.1f}" for one in own))


def program_lines(study: ThemisResults) -> Iterator[Sequence[str]]:
    """A line for each step of npuc's programs: work and collectives in ms, speed-up."""
    yield ("our program", "network", "work, ms", "collectives,\nms, baseline", "ms, scf", "speed-up\nscf")
    for one in study.programs:
        millis = [1e3 * seconds for seconds in (one.work_s, one.baseline_s, one.themis_s)]
        times = [f"{ms:,.0f}" if ms >= 1000 else f"{ms:.4g}" for ms in millis]
        yield (one.program, one.topology, *times, f"{one.speedup:.2f}")


def summary(study: ThemisResults) -> Iterator[tuple[str, str]]:
    """The lines below the tables."""
    judged = [row for row in study.rows if row.reproduced is not None]
    missed = [f"{row.claim} ({row.setting})" for row in judged if not row.reproduced]
    text = f"{len(judged) - len(missed)} of {len(judged)} of the paper's figures reproduced"
    yield "verdict", text + (f"; not {'; '.join(missed)}" if missed else "")
