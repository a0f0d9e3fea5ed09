"""The study as tables, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.studies.digamma.settings import OURS, PUBLISHED_EVALUATIONS, REASONS
from npuc.studies.digamma.study import METHODS, DesignRow, DigammaResults, SpeedupRow, as_dicts
from npuc.studies.rows import rows_csv, rows_json

if TYPE_CHECKING:
    from rich.console import Console


def to_json(results: DigammaResults) -> str:
    """Our gains, and as `designs` the best design of every search."""
    return rows_json("digamma", results.preset, as_dicts(results))


def to_csv(results: DigammaResults) -> str:
    """Our gains, one a line."""
    return rows_csv([one.name for one in fields(SpeedupRow)], [asdict(one) for one in results.rows])


def cases(results: DigammaResults) -> dict[tuple[str, str], dict[str, dict[str, DesignRow]]]:
    """The designs by step and budget, network, and optimiser."""
    found: dict[tuple[str, str], dict[str, dict[str, DesignRow]]] = {}
    for one in results.designs:
        found.setdefault((one.step, one.budget), {}).setdefault(one.network, {})[one.method] = one
    return found


def means(results: DigammaResults) -> list[SpeedupRow]:
    """The geometric means."""
    return [one for one in results.rows if one.setting.startswith("geometric mean")]


def number_text(value: float) -> str:
    """Three digits; a large number by its exponent."""
    return f"{value:.3g}"


def print_study(results: DigammaResults, console: Console) -> None:
    """A table for each step and area, and what is published beside ours."""
    for (step, budget), networks in cases(results).items():
        area = f"{next(iter(networks.values()))[OURS].area_limit_mm2:g} mm2"
        under = area if budget == area else f"{budget} ({area})"
        heading = f"Cycles of a step, {step}, {under}, {results.evaluations:,} designs each"
        print_note(heading, console, style="bold")
        console.print()
        print_grid(columns_of(list(_rows(networks)), ranks={}), console, gap=2)
    for one in means(results):
        published = "nothing is published" if one.published is None else f"published {one.published:g}"
        print_line("gain", f"{one.claim}, {one.setting}: {number_text(one.ours)} ({published})", console)
    print_line("note", f"Published is at {PUBLISHED_EVALUATIONS:,} designs each. {' '.join(REASONS)}", console)


def _rows(networks: dict[str, dict[str, DesignRow]]) -> Iterator[tuple[str, ...]]:
    yield ("network", *METHODS, "gain", "our machine")
    for name, rows in networks.items():
        ours = rows[OURS]
        best = min(rows[method].cycles for method in METHODS if method != OURS)
        machine = (
            f"{ours.clusters} x {ours.elements // ours.clusters}, {ours.l1_bytes} B, {ours.l2_bytes / 1024:.1f} KiB"
        )
        cells = (number_text(rows[method].cycles) for method in METHODS)
        yield (name, *cells, f"{best / ours.cycles:.2f}", machine)
