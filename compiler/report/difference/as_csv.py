"""The difference of two reports as CSV: a row for each layer and for each of its phases that differs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from npuc.compiler.report.as_csv import csv_text
from npuc.compiler.report.difference.document import Amounts, DifferenceData, DiffLayer, DiffPart

if TYPE_CHECKING:
    from npuc.compiler.core.display.frame import DataFrame

NAMES = Amounts.__struct_fields__
HEAD = (
    *("layer", "layer_a", "layer_b", "found", "phase"),
    *(f"{side}.{name}" for side in ("a", "b", "difference") for name in NAMES),
    *("a.limit", "b.limit", "cause", "why"),
)


def difference_csv(difference: DifferenceData) -> str:
    """
    The difference as CSV text. The row of a layer has no phase; those of its phases, which add up to it where all of
    them differ, follow it.
    """
    return csv_text(HEAD, *_lines(difference))


def difference_frame(difference: DifferenceData) -> DataFrame:
    """The same as a table of pandas. Raises `UsageError` without pandas."""
    from npuc.compiler.core.display.frame import frame

    return frame(HEAD, _lines(difference), {})


def _lines(difference: DifferenceData) -> Iterator[tuple[object, ...]]:
    for layer in difference.layers:
        yield _line(layer, layer, None, layer.cause, layer.why)
        for part in layer.parts:
            yield _line(layer, part, part.phase, None, "; ".join(reason.text for reason in part.reasons))


def _line(
    layer: DiffLayer, own: DiffLayer | DiffPart, phase: str | None, cause: str | None, why: str
) -> tuple[object, ...]:
    sides = own.a, own.b, own.difference
    return (
        *(layer.name, layer.name_a, layer.name_b, layer.found, phase),
        *(None if side is None else getattr(side, name) for side in sides for name in NAMES),
        *(None if own.a is None else own.a.limit, None if own.b is None else own.b.limit, cause, why),
    )
