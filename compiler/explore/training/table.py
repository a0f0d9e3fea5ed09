"""The cost of a training as text: its phases, trainings side by side, and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import fsum, nan
from typing import TYPE_CHECKING

from npuc.compiler.analysis.sparsity.products import ProductCounts
from npuc.compiler.explore.training.phases import STEP
from npuc.compiler.explore.training.result import HOUR, PhaseCost, TrainingCost, TrainingResult
from npuc.compiler.explore.training.target import WINDOW
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
        columns = columns_of([*_side_by_side(result)], ranks={2: 3, 4: 2, 6: 1})
        print_grid([one for one in columns if any(one.cells)], console, gap=2)
    if any(one.runs for one in result.trainings):
        print_grid(columns_of([*_runs(result)], ranks={4: 2, 6: 1}), console, gap=2)
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
    columns = columns_of([*_programs(training)], ranks={3: 2, 4: 1, 5: 3})
    print_grid([*columns[:6], *(one for one in columns[6:] if any(one.cells))], console, gap=2)
    print_grid(columns_of([*_phases(training)], left=(0, 1, 2), ranks={1: 3, 6: 2}), console, gap=2)


def _programs(training: TrainingCost) -> Iterator[tuple[str, ...]]:
    yield ("program", "samples", "step", "energy", "DRAM", "memory", "sparse\nMACs %", "MACs\nleft %")
    times = time_cells([one.seconds for one in training.programs])
    moved = bytes_cells([one.dram_bytes for one in training.programs])
    peaks = bytes_cells([one.peak_bytes for one in training.programs])
    for one, step, bytes_, peak in zip(training.programs, times, moved, peaks, strict=True):
        samples = f"{one.samples:,}" if one.samples else ""
        shares = _shares(one.products, training)
        yield (one.name, samples, step, energy_cell(one.energy_j), bytes_, peak, *shares)


def _shares(products: ProductCounts, *trainings: TrainingCost) -> tuple[str, str]:
    """The shares of sparse products and of what is left of all; empty where no program of the trainings has any."""
    if not any(one.products.sparse for training in trainings for one in training.programs):
        return "", ""
    return percent_cell(float(products.sparse_share)), percent_cell(float(products.left_share))


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
    last = ("sparse\nMACs %", "MACs\nleft %")
    yield ("training", "steps", "length", "time", "energy", "device\nhours", "USD", "gain", *last)
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
            *_shares(one.products, *result.trainings),
        )


def _runs(result: TrainingResult) -> Iterator[tuple[str, ...]]:
    """Executions, as mean ± standard deviation over the seeds; of those that reached the target where there is one."""
    yield ("executed", "reached", "steps", "time", "energy", "loss of the\nlast ten", "accuracy of\nthe last ten")
    for one in result.trainings:
        counted = [run for run in one.runs if result.until is None or run.reached is not None]
        yield (
            one.name,
            f"{len(counted)} of {len(one.runs)}" if result.until else f"{len(one.runs)} seeds",
            _spread([float(len(run.losses)) for run in counted], "{:,.0f}".format),
            _spread([run.seconds[-1] for run in counted], long_time_text),
            _spread([run.energy_j[-1] for run in counted if run.energy_j], long_energy_text),
            _spread([_last(run.losses) for run in one.runs], "{:.3g}".format),
            _spread([_last(run.accuracies) for run in one.runs if run.accuracies], "{:.3g}".format),
        )


def _last(values: Sequence[float | None]) -> float:
    """The mean of the last ten values, NaN where one of them is no number."""
    last = values[-WINDOW:]
    return fsum(nan if one is None else one for one in last) / len(last)


def _spread(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """The mean of values, and their standard deviation where there are several."""
    if not values:
        return "-"
    mean = fsum(values) / len(values)
    if len(values) == 1:
        return shown(mean)
    return f"{shown(mean)} ± {shown((fsum((one - mean) ** 2 for one in values) / (len(values) - 1)) ** 0.5)}"


def _summary(result: TrainingResult) -> Iterator[tuple[str, str]]:
    if result.data is not None:
        yield "data", result.data
        if (sooner := _soonest(result)) is not None:
            yield "reached", sooner
        until = "to the end of the phases" if result.until is None else f"until {result.until} over {WINDOW} steps"
        yield "time", f"{until}: steps as executed here times their modelled time on {result.hardware}"
    best = min(result.trainings, key=lambda one: one.seconds)
    if len(result.trainings) > 1:
        yield "gain", f"against as many epochs or steps of the program '{STEP}' alone; {_accuracy(result)}"
        yield "verdict", f"{best.name} is the shortest: {_cost_text(best)}."
        return
    yield "cost", _cost_text(best)
    if best.products.sparse:
        left = float(best.products.left_share)
        yield "products", f"formats of sparse operands leave {left:.4f} of the MACs of as many dense steps"
    plain = f"the same {best.unit} of '{STEP}' alone take {long_time_text(best.plain_seconds)}"
    yield "verdict", f"{best.gain:.3f} times as fast as plain training: {plain}; {_accuracy(result)}."


def _soonest(result: TrainingResult) -> str | None:
    """Which training reached the target soonest, of those that reached it from all seeds; None where none did."""
    times = {
        one.name: fsum(run.seconds[-1] for run in one.runs) / len(one.runs)
        for one in result.trainings
        if all(run.reached is not None for run in one.runs)
    }
    if not times or len(result.trainings) < 2:
        return None
    name = min(times, key=lambda one: times[one])
    others = [f"{other} {long_time_text(times[other])}" for other in times if other != name]
    return "; ".join([f"{name} soonest, in {long_time_text(times[name])}", *(others or ["no other from all seeds"])])


def _accuracy(result: TrainingResult) -> str:
    """How far a result is about accuracy."""
    return "nothing is said of accuracy" + (" beyond what was executed" if result.data else "")


def _cost_text(one: TrainingCost) -> str:
    parts = [long_time_text(one.seconds)]
    parts += [] if one.energy_j is None else [long_energy_text(one.energy_j)]
    parts.append(f"{three_digits(one.device_hours)} device hours on {one.devices:,} device{'s' * (one.devices > 1)}")
    parts += [] if one.usd is None else [f"{three_digits(one.usd)} USD"]
    return ", ".join(parts)
