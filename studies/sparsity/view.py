"""The study as a table, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.explore.training.table import long_energy_text, long_time_text
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.compiler.report.text.quantities import bytes_cells
from npuc.studies.rows import rows_csv, rows_json
from npuc.studies.sparsity.study import SparsityResults, SparsityRow

if TYPE_CHECKING:
    from rich.console import Console

HEADS = (
    "machine",
    "step",
    "time",
    "gain",
    "gain of\nproducts",
    "energy",
    "energy\ngain",
    "DRAM",
    "MACs\ndone",
    "stored",
)


def to_json(study: SparsityResults) -> str:
    """The rows, a method on a machine each."""
    return rows_json("sparsity", study.preset, {"rows": [asdict(row) for row in study.rows]})


def to_csv(study: SparsityResults) -> str:
    """The rows, one per line."""
    return rows_csv([one.name for one in fields(SparsityRow)], [asdict(row) for row in study.rows])


def print_study(study: SparsityResults, console: Console) -> None:
    """The methods side by side, what is published, and what the columns are."""
    print_note(
        f"Sparse operands: a training step of {study.network}, backend {study.backend}, -O1", console, style="bold"
    )
    console.print()
    print_grid(columns_of([HEADS, *cells(study.rows)], left=(0, 1), ranks={5: 2, 6: 1, 7: 3, 9: 4}), console, gap=2)
    for row in study.rows:
        if row.published:
            print_line("published", f"{row.machine}, {row.method}: {row.published} ({row.source})", console)
    print_line("gain", "the dense step on the same machine over this one; nothing is said of accuracy", console)
    print_line(
        "MACs done", "of all MACs of the step; stored: bytes of sparse operands, metadata included, of dense", console
    )
    best = max(study.rows, key=lambda row: row.gain)
    worst = min(study.rows, key=lambda row: row.gain)
    text = f"{best.method} on {best.machine} gains most, {best.gain:.3f} times"
    if worst.gain < 1:
        text += f"; {worst.method} on {worst.machine} loses: conversions are vector work that a step pays for"
    print_line("verdict", f"{text}.", console)


def cells(rows: Sequence[SparsityRow]) -> Iterator[tuple[str, ...]]:
    """The cells of the rows."""
    for row, dram in zip(rows, bytes_cells([row.dram_bytes for row in rows]), strict=True):
        yield (
            row.machine,
            row.method,
            long_time_text(row.seconds),
            f"{row.gain:.3f}",
            "" if row.matrix_gain is None else f"{row.matrix_gain:.3f}",
            long_energy_text(row.energy_j),
            "" if row.energy_gain is None else f"{row.energy_gain:.3f}",
            dram,
            f"{row.carried:.3f}",
            "" if row.stored is None else f"{row.stored:.3f}",
        )
