"""The comparison as a table, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.report.text.grid import columns_of, print_grid, print_note
from npuc.studies.crosscheck.study import CrossCheckResults, ProductRow
from npuc.studies.rows import rows_csv, rows_json

if TYPE_CHECKING:
    from rich.console import Console

FULL = 1_000_000
"""The number of cycles from which the table counts in thousands."""
SHOWN = 5
"""The number of layers shown per dataflow: those whose models are farthest apart."""


def to_json(study: CrossCheckResults) -> str:
    """All rows."""
    dataflows = list(dict.fromkeys(row.dataflow for row in study.rows))
    preset = dataflows[0] if len(dataflows) == 1 else "all"
    return rows_json("crosscheck", preset, {"rows": [_cells(study, row) for row in study.rows]})


def to_csv(study: CrossCheckResults) -> str:
    """All rows, one per line."""
    names = ["hardware", "noc_bw", *(field.name for field in fields(ProductRow)), "ratio", "reason"]
    return rows_csv(names, [_cells(study, row) for row in study.rows])


def _cells(study: CrossCheckResults, row: ProductRow) -> dict[str, object]:
    machine: dict[str, object] = {"hardware": study.hardware, "noc_bw": study.noc_bw}
    return machine | asdict(row) | {"ratio": row.ratio, "reason": row.reason}


def print_study(study: CrossCheckResults, console: Console) -> None:
    """Sums by dataflow, then the layers in which the models differ most."""
    text = f"{study.source} on {study.hardware}: cycles of the array, and of a mapping with {study.noc_bw:,} elements"
    print_note(f"{text} a cycle", console, style="bold")
    console.print()
    thousands = sum(row.repeat * row.cycle for row in study.rows) >= FULL
    heads = ("ideal", "edges", "tiles", "edge waits", "fill", "DRAM", "array", "network", "mapping", "ratio")
    lines = [["10^3 cycles" if thousands else "cycles", *heads, "mostly"]]
    for dataflow in dict.fromkeys(row.dataflow for row in study.rows):
        rows = study.of(dataflow)
        lines.append([dataflow, *_numbers(rows, thousands), ""])
        apart = sorted(rows, key=lambda row: abs(row.cycle - row.mapping) * row.repeat, reverse=True)
        for row in apart[:SHOWN]:
            lines.append([f"  {row.layer} {row.phase}", *_numbers([row], thousands), row.reason])
    parts = dict.fromkeys((2, 3, 4, 5, 6, 8), 3)
    print_grid(columns_of(lines, left=(0, 11), ranks={11: 1, 1: 2, **parts}), console, gap=2, last=True)


def _numbers(rows: Sequence[ProductRow], thousands: bool) -> list[str]:
    """The sums of rows and their ratio."""
    names = ("ideal", "edges", "tiles", "edge_cycles", "fill_drain", "dram", "cycle", "network", "mapping")
    sums = {name: sum(row.repeat * getattr(row, name) for row in rows) for name in names}
    unit = 1e3 if thousands else 1
    return [*(f"{sums[name] / unit:,.0f}" for name in names), f"{sums['cycle'] / sums['mapping']:.3f}"]
