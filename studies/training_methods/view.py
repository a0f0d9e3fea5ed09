"""The study as a table, as JSON (schema `npuc.study/1`) and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from npuc.compiler.explore.training.table import long_energy_text, long_time_text
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.compiler.report.text.quantities import bytes_cells
from npuc.studies.rows import rows_csv, rows_json
from npuc.studies.training_methods.study import EPOCHS, GOAL_STEPS, STEPS_PER_EPOCH, MethodRow, MethodsResults

if TYPE_CHECKING:
    from rich.console import Console


def to_json(study: MethodsResults) -> str:
    """The rows, a method each."""
    return rows_json("training-methods", study.preset, {"rows": [asdict(row) for row in study.rows]})


def to_csv(study: MethodsResults) -> str:
    """The rows, one per line."""
    return rows_csv([one.name for one in fields(MethodRow)], [asdict(row) for row in study.rows])


def print_study(study: MethodsResults, console: Console) -> None:
    """The methods side by side, why some do not apply, and what the columns are."""
    machine = ", ".join([study.hardware, *(f"{key}={value}" for key, value in study.settings.items())])
    title = f"Methods of training: {study.network} on {machine}, backend {study.backend}, {study.length}"
    print_note(title, console, style="bold")
    console.print()
    rows = [row for row in study.rows if row.error is None]
    print_grid(columns_of([*_costs(rows)], left=(0, 1), ranks={1: 4, 5: 2, 6: 1, 7: 3}), console, gap=2)
    if study.seeds:
        print_grid(columns_of([*_learned(rows, study.seeds)], left=(0,)), console, gap=2)
    for row in rows:
        if row.published:
            print_line("published", f"{row.method}: {row.published} ({row.source})", console)
    for row in study.rows:
        if row.error is not None:
            print_line("refused", f"{row.method}: {row.error}", console)
    for name, words in _summary(study, rows):
        print_line(name, words, console)


def _costs(rows: Sequence[MethodRow]) -> Iterator[tuple[str, ...]]:
    yield ("method", "changes", "time", "gain", "energy", "energy\ngain", "DRAM", "memory")
    moved = bytes_cells([row.dram_bytes for row in rows])
    peaks = bytes_cells([row.peak_bytes for row in rows])
    for row, dram, peak in zip(rows, moved, peaks, strict=True):
        yield (
            row.method,
            row.changes,
            "" if row.seconds is None else long_time_text(row.seconds),
            _number(row.gain, "{:.3f}"),
            long_energy_text(row.energy_j),
            _number(row.energy_gain, "{:.3f}"),
            dram,
            peak,
        )


def _learned(rows: Sequence[MethodRow], seeds: int) -> Iterator[tuple[str, ...]]:
    yield ("executed", "loss", "accuracy", "reached", "steps to\nthe loss", "time to\nthe loss")
    for row in rows:
        yield (
            row.method,
            _number(row.loss, "{:.4g}"),
            _number(row.accuracy, "{:.3f}"),
            f"{row.reached or 0} of {seeds}",
            _number(row.steps_to_loss, "{:.1f}"),
            "" if row.seconds_to_loss is None else long_time_text(row.seconds_to_loss),
        )


def _number(value: float | None, shown: str) -> str:
    return "" if value is None else shown.format(value)


def _summary(study: MethodsResults, rows: Sequence[MethodRow]) -> Iterator[tuple[str, str]]:
    if study.data is not None:
        yield "data", study.data
        yield "executed", "means over seeds; loss and accuracy of the last ten steps, on what is trained on"
        yield "the loss", f"that of plain training after {GOAL_STEPS} steps, as the mean of ten, from the same seed"
    else:
        yield "length", f"{EPOCHS} epochs of {STEPS_PER_EPOCH:,} steps; times and energies are in proportion to both"
    yield (
        "gain",
        "time and energy of plain training in f32 over those of a method; nothing is said of accuracy"
        + (" beyond what was executed" if study.seeds else ""),
    )
    best = max(rows, key=lambda row: row.gain or 0.0)
    sooner = [row for row in rows if row.reached == study.seeds and row.seconds_to_loss is not None]
    text = f"{best.method} takes the least time for the same steps: {best.gain:.3f} times as fast as plain training"
    if sooner:
        first = min(sooner, key=lambda row: row.seconds_to_loss or 0.0)
        text += f"; {first.method} is the first at the loss, in {long_time_text(first.seconds_to_loss or 0.0)}"
    yield "verdict", f"{text}."
