"""The study as a table, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.studies.aespa.settings import REASONS
from npuc.studies.aespa.study import AespaResults, KernelRow, as_dicts
from npuc.studies.rows import rows_csv, rows_json

if TYPE_CHECKING:
    from rich.console import Console


def to_json(results: AespaResults) -> str:
    """The products, as `means` their means, as `units` the machine."""
    return rows_json("aespa", results.preset, as_dicts(results))


def to_csv(results: AespaResults) -> str:
    """The products, one a line; shares as `unit:size` with blanks between them."""
    rows = [asdict(row) | {"shares": shares_text(row)} for row in results.rows]
    return rows_csv([one.name for one in fields(KernelRow)], rows)


def shares_text(row: KernelRow) -> str:
    """What each unit has of the axis."""
    return " ".join(f"{unit}:{size}" for unit, size in row.shares)


def print_study(results: AespaResults, console: Console) -> None:
    """The products, the means beside what is published, and why they differ."""
    machine = results.machine
    title = f"Sparse products on the units of {machine.name}, and on one EIE-like unit of the same elements"
    print_note(title, console, style="bold")
    console.print()
    print_grid(columns_of([*kernel_lines(results.rows)], left=(0, 5, 9), ranks={1: 3, 2: 2, 9: 1}), console, gap=2)
    units = ", ".join(f"{one.name} ({one.kind}) {one.pes:,}" for one in machine.units)
    area = "" if results.area_mm2 is None else f"; {results.area_mm2:g} mm2"
    print_line("units", f"{units} elements{area}", console)
    for mean in results.means:
        known = "nothing is published" if mean.published is None else f"published {mean.published:g}"
        met = {None: "", True: ", reproduced", False: ", not reproduced"}[mean.reproduced]
        span = "" if mean.least == mean.most else f", {number_text(mean.least)} to {number_text(mean.most)} without one"
        print_line("gain", f"{mean.claim}, {mean.setting}: {number_text(mean.ours)}{span} ({known}{met})", console)
    print_line("note", " ".join(REASONS), console)


def kernel_lines(rows: Sequence[KernelRow]) -> Iterator[Sequence[str]]:
    """A line a product, behind the headings."""
    yield (
        *("product", "density\nof A", "density\nof B", "one kind\nus", "best unit\nus", "which", "split\nus"),
        *("speed\ngain", "EDP\ngain", "cut, and who has how much"),
    )
    for row in rows:
        cut = "whole" if row.axis is None else row.axis.upper()
        yield (
            row.kernel,
            number_text(row.a),
            number_text(row.b),
            number_text(row.homogeneous_us),
            number_text(row.best_unit_us),
            row.best_unit,
            number_text(row.heterogeneous_us),
            number_text(row.speedup),
            number_text(row.edp_gain),
            f"{cut} {shares_text(row)}{', DRAM' if row.dram_bound else ''}",
        )


def number_text(value: float) -> str:
    """Three digits; large and small numbers by their exponent."""
    return f"{value:.3g}"
