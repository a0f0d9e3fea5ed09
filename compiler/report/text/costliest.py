"""The costliest layers of a step as text: what limits each, and what changes gain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from npuc.compiler.report.causes import NAMES
from npuc.compiler.report.costliest import Change, CostliestReport, CostlyLayer
from npuc.compiler.report.text.grid import Column, columns_of, fitting, print_grid, print_line, print_note
from npuc.compiler.report.text.quantities import (
    bytes_cell,
    energy_cell,
    energy_text,
    percent_cell,
    three_digits,
    time_cell,
    time_text,
)

if TYPE_CHECKING:
    from rich.console import Console

LEAST = 0.1
"""The share of a layer's time from which on a cause is named."""
MOST = 3
"""The most causes that are named of a layer."""
BY_LAYER = 1
"""The rank of the columns with the gains of layers."""
GAIN = 0.005
"""A change that gains less is only named."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
HEADS = {"time": "time", "traffic": "DRAM", "energy": "energy", "edp": "energy\nx time"}


def print_costliest(report: CostliestReport, console: Console) -> None:
    """Print the layers with their limits, the changes with their gains, and a verdict."""
    what = "training step" if report.training else "forward pass"
    source = f" ({report.source})" if report.source != report.network else ""
    of = f" of one of {report.devices:,} devices" if report.devices > 1 else ""
    on = f"{what}{of} on {report.hardware}, backend {report.backend}"
    floats = "" if report.precision in (None, "as-written") else f", floats {report.precision}"
    title = f"{report.network}{source}: {on}{floats}: {_cost_text(report.cost, report.objective)}"
    print_note(title, console, style="bold")
    console.print()
    best = {layer.change for layer in report.layers}
    good = [
        change
        for number, change in enumerate(report.changes)
        if change.gain is not None and (change.gain >= GAIN or number in best)
    ]
    covered = sum(layer.share for layer in report.layers)
    note = f"{len(report.layers)} of {report.lines:,} lines, {covered:.0%} of the step"
    print_grid(list(_layers(report, good)), console, notes=[note if report.lines > len(report.layers) else ""])
    if good:
        columns = list(_changes(report, good))
        by_layer = any(column.rank == BY_LAYER for column in fitting(columns, console.width))
        print_grid(columns, console, notes=[*_of_changes(report, good, by_layer=by_layer)])
    for name, text in _lines(report, good):
        print_line(name, text, console)


def _layers(report: CostliestReport, shown: Sequence[Change]) -> Iterator[Column]:
    """The layers: their number, cost, share, what limits them, and the change that gains most."""
    layers = report.layers
    yield Column("", tuple(str(number + 1) for number in range(len(layers))), rank=5, called="their numbers")
    yield Column("layer", tuple(layer.layer for layer in layers), left=True)
    yield Column(HEADS[report.objective], tuple(_cost_cell(layer.cost, report.objective) for layer in layers))
    if report.objective != "edp":
        yield Column("%", tuple(percent_cell(layer.share) for layer in layers), rank=4)
    yield Column("limited by", tuple(_spent(layer.spent, LEAST, MOST) for layer in layers), left=True, rank=1)
    first = (_spent(layer.spent, LEAST, 1) for layer in layers)
    yield Column("limited by", tuple(first), left=True, rank=2, instead=1)
    if any(layer.change is not None for layer in layers):
        yield Column("best change", tuple(_best(report, layer) for layer in layers), left=True, rank=6)
        letters = ("" if layer.change is None else _letter(shown, report, layer.change) for layer in layers)
        yield Column("best\nchange", tuple(letters), left=True, rank=7, instead=6)
        gains = (_best_gain(report, number) for number in range(len(layers)))
        yield Column("gain\n%", tuple(map(percent_cell, gains)), rank=3)


def _letter(shown: Sequence[Change], report: CostliestReport, number: int) -> str:
    """The letter of a change among those that are shown."""
    place = shown.index(report.changes[number])
    return LETTERS[place] if place < len(LETTERS) else str(place + 1)


def _best(report: CostliestReport, layer: CostlyLayer) -> str:
    return "" if layer.change is None else report.changes[layer.change].option


def _best_gain(report: CostliestReport, number: int) -> float | None:
    change = report.layers[number].change
    return None if change is None else report.changes[change].layers[number]


def _spent(spent: Mapping[str, float], least: float, most: int | None = None) -> str:
    """At most so many causes of at least so much, the largest first: `DRAM 92%, vector unit 8%`."""
    return ", ".join(f"{name} {share:.0%}" for name, share in _named(spent)[:most] if share >= least)


def _changes(report: CostliestReport, changes: Sequence[Change]) -> Iterator[Column]:
    """The changes: their cost and gain, and the gain of each layer by its number."""
    steps = [_cost_cell(change.cost, report.objective) + ("*" * (change.per == "sample")) for change in changes]
    starred = any(change.per == "sample" for change in changes)
    steps = [step if step.endswith("*") or not starred else f"{step} " for step in steps]
    rows = [("", "change", "what it is", "step", "gain\n%", *(str(n + 1) for n in range(len(report.layers))))]
    for change, step in zip(changes, steps, strict=True):
        cells = (_percent(gain) for gain in change.layers)
        letter = _letter(changes, report, report.changes.index(change))
        rows.append((letter, _lines_of(change.option), change.what, step, _percent(change.gain), *cells))
    ranks = {2: 2, **{5 + n: BY_LAYER for n in range(len(report.layers))}}
    for column in columns_of(rows, left=(0, 1, 2), ranks=ranks):
        yield replace(column, called="gains by layer") if column.rank == BY_LAYER else column


def _lines_of(option: str) -> str:
    """Several options of one change, a line each."""
    return option.replace(" --set ", "\n--set ")


def _of_changes(report: CostliestReport, changes: Sequence[Change], *, by_layer: bool) -> Iterator[str]:
    several = by_layer and len(report.layers) > 1
    layers = f"; 1 to {len(report.layers)}: the gain of the layers above, %" if several else ""
    yield f"each change was compiled by itself, and gains do not add up{layers}"
    if any(change.per == "sample" for change in changes):
        yield "*: of as many samples as the step has now"


def _lines(report: CostliestReport, good: Sequence[Change]) -> Iterator[tuple[str, str]]:
    if report.seconds:
        yield "spent", _spent(report.spent, 0.01)
    rest = [change for change in report.changes if change.gain is not None and change not in good]
    if rest:
        yield "no gain", ", ".join(f"{change.option} ({_signed(change.gain)})" for change in rest)
    failed = [f"{change.option}: {change.error}" for change in report.changes if change.error is not None]
    if failed:
        yield "failed", "; ".join(failed)
    yield "verdict", _verdict(report, good)


def _percent(gain: float | None) -> str:
    """A gain in percent, without the sign of one that rounds to 0."""
    return percent_cell(gain).replace("-0.0", "0.0") if gain is None or abs(gain) < 0.0005 else percent_cell(gain)


def _signed(gain: float | None) -> str:
    """A gain as the change of the cost."""
    change = -(gain or 0.0)
    return f"{change:+.1%}" if abs(change) >= 0.0005 else "as before"


def _verdict(report: CostliestReport, good: Sequence[Change]) -> str:
    first = report.layers[0]
    share = f", {first.share:.0%} of the step" if report.objective != "edp" else ""
    text = f"{first.layer} costs most{share}"
    causes = _named(report.spent)
    if causes:
        text += f"; {causes[0][1]:.0%} of the time is spent on {causes[0][0]}"
    if not good:
        tried = f" of {len(report.changes)} changes" if report.changes else ""
        return f"{text}. None{tried} gains as much as {GAIN:.1%}." if report.changes else f"{text}."
    best = good[0]
    per = f" a {best.per}" if best.per == "sample" else ""
    return f"{text}. {best.option} ({best.what}): {_signed(best.gain)}{per}."


def _named(spent: Mapping[str, float]) -> list[tuple[str, float]]:
    """The names of causes with their shares."""
    whole = sum(spent.values())
    return [(NAMES.get(cause, cause), seconds / whole) for cause, seconds in spent.items() if whole]


def _cost_cell(cost: float | None, objective: str) -> str:
    if cost is None or objective == "edp":
        return "" if cost is None else f"{cost:.3g}"
    return {"time": time_cell, "traffic": bytes_cell, "energy": energy_cell}[objective](cost)


def _cost_text(cost: float, objective: str) -> str:
    if objective == "time":
        return time_text(cost)
    if objective == "energy":
        return energy_text(cost)
    return f"{bytes_cell(cost)} of DRAM traffic" if objective == "traffic" else f"{three_digits(cost)} J s"
