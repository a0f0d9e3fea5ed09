"""The cost of a training as text: its phases, trainings side by side, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuc.compiler.explore.training.phases import STEP
from npuc.compiler.explore.training.result import HOUR, PhaseCost, TrainingCost, TrainingResult
from npuc.compiler.report.text.grid import columns_of, print_grid, print_line, print_note
from npuc.compiler.report.text.quantities import (
    bytes_cells,
    energy_cell,
    percent_cell,
    three_digits,
    time_cell,
    time_cells,
)

if TYPE_CHECKING:
    from rich.console import Console

DAY = 24 * HOUR
KWH = 3.6e6
"""Joules of a kilowatt hour."""


def print_result(result: TrainingResult, console: Console) -> None:
    """Print the result."""
    text = f"{result.title} ({result.source}): whole trainings on {result.hardware}, backend {result.backend}"
    print_note(text, console, style="bold")
    console.print()
    for one in result.trainings:
        _print_training(one, console)
    if len(result.trainings) > 1:
        print_grid(columns_of([*_side_by_side(result)], ranks={2: 3, 4: 2, 6: 1}), console, gap=2)
    for name, words in _summary(result):
        print_line(name, words, console)


def long_time_text(seconds: float) -> str:
    """A time of hours, with three digits: in days from two on, in minutes below an hour, as of a step below one."""
    for scale, unit, least in ((DAY, "days", 2 * DAY), (HOUR, "h", HOUR), (60.0, "min", 60.0)):
        if seconds >= least:
            return f"{three_digits(seconds / scale)} {unit}"
    return time_cell(seconds)


def long_energy_text(joules: float | None) -> str:
    """An energy of hours: in kWh from a tenth on, with three digits; empty for None."""
    if joules is None or joules < KWH / 10:
        return energy_cell(joules)
    return f"{three_digits(joules / KWH)} kWh"


def span_text(training: TrainingCost, phase: PhaseCost) -> str:
    """The epochs or steps of a phase, from the first to the last."""
    return f"{phase.first:,}" if phase.end == phase.first + 1 else f"{phase.first:,} to {phase.end - 1:,}"


def _print_training(training: TrainingCost, console: Console) -> None:
    print_note(f"{training.name}: {training.length:,} {training.unit}", console, style="bold")
    print_grid(columns_of([*_programs(training)], ranks={3: 2, 4: 1, 5: 3}), console, gap=2)
    print_grid(columns_of([*_phases(training)], left=(0, 1, 2), ranks={1: 3, 6: 2}), console, gap=2)


def _programs(training: TrainingCost) -> Iterator[tuple[str, ...]]:
    yield ("program", "samples", "step", "energy", "DRAM", "memory")
    times = time_cells([one.seconds for one in training.programs])
    moved = bytes_cells([one.dram_bytes for one in training.programs])
    peaks = bytes_cells([one.peak_bytes for one in training.programs])
    for one, step, bytes_, peak in zip(training.programs, times, moved, peaks, strict=True):
        yield (one.name, f"{one.samples:,}" if one.samples else "", step, energy_cell(one.energy_j), bytes_, peak)


def _phases(training: TrainingCost) -> Iterator[tuple[str, ...]]:
    yield ("phase", training.unit, "programs", "steps", "time", "time\n%", "energy")
    for one in training.phases:
        mix = one.steps
        names = ", ".join(mix) if len(mix) == 1 else ", ".join(f"{count:,} {name}" for name, count in mix.items())
        share = one.seconds / training.seconds if training.seconds else None
        yield (
            one.name,
            span_text(training, one),
            names,
            f"{sum(mix.values()):,}",
            long_time_text(one.seconds),
            percent_cell(share),
            long_energy_text(one.energy_j),
        )


def _side_by_side(result: TrainingResult) -> Iterator[tuple[str, ...]]:
    yield ("training", "steps", "length", "time", "energy", "device\nhours", "USD", "gain")
    for one in result.trainings:
        yield (
            one.name,
            f"{one.steps:,}",
            f"{one.length:,} {one.unit}",
            long_time_text(one.seconds),
            long_energy_text(one.energy_j),
            three_digits(one.device_hours),
            "" if one.usd is None else three_digits(one.usd),
            f"{one.gain:.3f}",
        )


def _summary(result: TrainingResult) -> Iterator[tuple[str, str]]:
    best = min(result.trainings, key=lambda one: one.seconds)
    if len(result.trainings) > 1:
        yield "gain", f"against as many epochs or steps of the program '{STEP}' alone; nothing is said of accuracy"
        yield "verdict", f"{best.name} is the shortest: {_cost_text(best)}."
        return
    yield "cost", _cost_text(best)
    plain = f"the same {best.unit} of '{STEP}' alone take {long_time_text(best.plain_seconds)}"
    yield "verdict", f"{best.gain:.3f} times as fast as plain training: {plain}. Nothing is said of accuracy."


def _cost_text(one: TrainingCost) -> str:
    parts = [long_time_text(one.seconds)]
    parts += [] if one.energy_j is None else [long_energy_text(one.energy_j)]
    parts.append(f"{three_digits(one.device_hours)} device hours on {one.devices:,} device{'s' * (one.devices > 1)}")
    parts += [] if one.usd is None else [f"{three_digits(one.usd)} USD"]
    return ", ".join(parts)
