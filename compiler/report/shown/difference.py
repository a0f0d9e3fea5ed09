"""What is shown of a difference: both steps as a whole, the verdict, and the layers that differ most."""

from __future__ import annotations

from collections.abc import Iterator

from npuc.compiler.core.display.shown import Shown, ShownTable
from npuc.compiler.core.display.words import counted
from npuc.compiler.report.causes import NAMES as CAUSES
from npuc.compiler.report.difference.document import DifferenceData, DiffHead, DiffLayer
from npuc.compiler.report.text.quantities import bytes_cell, time_cell

MOST_LAYERS = 12


def shown_difference(difference: DifferenceData) -> Shown:
    """What is shown of a difference."""
    layers = sorted((one for one in difference.layers if one.why), key=_size)
    table = ShownTable(
        ("layer", "A", "B", "DRAM A", "DRAM B", "cause"),
        [_cells(one) for one in layers[:MOST_LAYERS]],
        len(layers),
        what="layers that differ",
    )
    return Shown(
        "Difference",
        f"of {_name(difference.a)} and {_name(difference.b)}",
        _times(difference) or counted(len(layers), "layers differ"),
        tuple(_facts(difference)),
        table=table if layers else None,
    )


def _name(head: DiffHead) -> str:
    return f"{head.network or head.source or 'a program'} on {head.machine} ({head.backend})"


def _times(difference: DifferenceData) -> str:
    time = difference.total("time")
    if time.a is None or time.b is None:
        return ""
    return f"{time_cell(time.a)} → {time_cell(time.b)}"


def _facts(difference: DifferenceData) -> Iterator[tuple[str, str]]:
    for one in difference.settings[:3]:
        yield one.name, f"{'nothing' if one.a is None else one.a} → {'nothing' if one.b is None else one.b}"
    if len(difference.settings) > 3:
        yield "settings", f"{len(difference.settings) - 3:,} more differ"
    yield "verdict", difference.verdict
    for note in difference.notes:
        yield "note", note


def _size(layer: DiffLayer) -> tuple[float, int]:
    """The largest differences first."""
    return -abs(layer.difference.seconds or 0.0), -abs(layer.difference.dram_bytes or 0)


def _cells(layer: DiffLayer) -> tuple[str, ...]:
    times = [time_cell(None if side is None else side.seconds) for side in (layer.a, layer.b)]
    moved = [bytes_cell(None if side is None else side.dram_bytes) for side in (layer.a, layer.b)]
    return (layer.name, *times, *moved, "" if layer.cause is None else CAUSES.get(layer.cause, layer.cause))
