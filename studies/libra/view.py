"""The study as tables, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.studies.libra.study import LibraResults, SplitRow
from npuc.studies.rows import rows_csv, rows_json

if TYPE_CHECKING:
    from rich.console import Console


def to_json(study: LibraResults) -> str:
    """The rows of workloads, and as `programs` those of npuc's own."""
    tables = {"rows": [asdict(row) for row in study.rows], "programs": [asdict(row) for row in study.programs]}
    return rows_json("libra", study.preset, tables)


def to_csv(study: LibraResults) -> str:
    """All rows, one per line; bandwidths by level with `x` between them."""
    rows = [
        asdict(row)
        | {name: "x".join(map(str, getattr(row, name))) for name in ("optimum_gb_per_s", "time_cost_gb_per_s")}
        for row in (*study.rows, *study.programs)
    ]
    return rows_csv([one.name for one in fields(SplitRow)], rows)


def print_study(study: LibraResults, console: Console) -> None:
    """The splits of workloads, those of programs, and a verdict."""
    print_note(
        "Bandwidth over the levels of networks (Won et al., ISPASS 2024), innermost first", console, style="bold"
    )
    console.print()
    for rows in (study.rows, study.programs):
        if rows:
            print_grid(columns_of([*split_lines(rows)], left=(0, 1), ranks={3: 2, 8: 1, 9: 3, 10: 1}), console, gap=2)
    for row in study.rows:
        if row.constraints is not None:
            print_line("limits", f"{row.workload} with {row.total_gb_per_s:g} GB/s: {row.constraints}", console)
    for name, words in summary(study):
        print_line(name, words, console)


def split_lines(rows: Sequence[SplitRow]) -> Iterator[Sequence[str]]:
    """A line a row, behind the headings."""
    yield (
        "network",
        "workload",
        "GB/s",
        "work\nms",
        "equal\nms",
        "best\nms",
        "gain",
        "GB/s by level",
        "per cost\nbest",
        "GB/s of least\ntime x cost",
        "per\ncost",
    )
    for row in rows:
        yield (
            row.network,
            row.workload,
            f"{row.total_gb_per_s:g}",
            f"{row.compute_ms:.5g}",
            _number(row.equal_split_ms, "{:.6g}"),
            f"{row.optimum_ms:.6g}",
            _number(row.speedup, "{:.3f}"),
            levels_text(row.optimum_gb_per_s),
            _number(row.optimum_gain_per_cost, "{:.2f}"),
            levels_text(row.time_cost_gb_per_s),
            _number(row.time_cost_gain_per_cost, "{:.2f}"),
        )


def levels_text(bandwidths: Sequence[float]) -> str:
    """Bandwidths by level."""
    return ", ".join(f"{one:.4g}" for one in bandwidths)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def summary(study: LibraResults) -> Iterator[tuple[str, str]]:
    """The lines below the tables."""
    rows = (*study.rows, *study.programs)
    yield (
        "per cost",
        "steps per second and USD over those of the equal split: of the shortest step, and of the least time x cost",
    )
    gains = [row.speedup for row in rows if row.speedup is not None]
    gap = max(max(row.gap, row.time_cost_gap) for row in rows)
    yield (
        "verdict",
        f"The best split is {min(gains):.3g} to {max(gains):.3g} times as fast as the equal one; "
        f"no split is better than these by more than {gap:.1e} of it.",
    )
