"""Published numbers beside ours: the rows of a study that have both, and how far they are apart."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import cast

from npuc.compiler.core.frozen import frozen

PUBLISHED, OURS = "published", "ours"
VERDICTS = ("reproduced", "holds")
"""What studies call it whether a number of theirs is that of the publication, by their own tolerance."""
FIELDS = ("table", "row", PUBLISHED, OURS, "deviation_percent", "reproduced")


@frozen
class Deviation:
    """
    A row of a `table` of a study with a published number and ours; `reproduced` is what the study says of it, if it
    does.
    """

    table: str
    row: str
    published: float
    ours: float
    reproduced: bool | None

    @property
    def percent(self) -> float | None:
        """How much more ours is than the published number, in % of that; None of zero."""
        return 100 * (self.ours - self.published) / abs(self.published) if self.published else None


def deviations_of(rows: str) -> list[Deviation]:
    """The rows with both numbers in all tables of a study's JSON, in their order."""
    data: object = json.loads(rows)
    return [one for name, table in _tables(data) for row in table for one in _deviation(name, row)]


def deviations_csv(found: Sequence[Deviation]) -> str:
    """The deviations as CSV; what is unknown is an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for one in found:
        writer.writerow((one.table, one.row, one.published, one.ours, one.percent, one.reproduced))
    return out.getvalue()


def _tables(data: object) -> Iterator[tuple[str, list[Mapping[str, object]]]]:
    """The tables of a study by name: lists of objects."""
    if not isinstance(data, dict):
        return
    for name, value in cast("dict[str, object]", data).items():
        if isinstance(value, list):
            items = cast("list[object]", value)
            yield name, [cast("Mapping[str, object]", item) for item in items if isinstance(item, dict)]


def _deviation(table: str, row: Mapping[str, object]) -> Iterator[Deviation]:
    published, ours = _number(row.get(PUBLISHED)), _number(row.get(OURS))
    if published is None or ours is None:
        return
    said = next((value for name in VERDICTS if isinstance(value := row.get(name), bool)), None)
    yield Deviation(table, _title(row), published, ours, said)


def _title(row: Mapping[str, object]) -> str:
    """What a row is about: its texts, and the integers that stand before its numbers."""
    words: list[str] = []
    for name, value in row.items():
        if name in (PUBLISHED, OURS):
            break
        if isinstance(value, str):
            words.append(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            words.append(f"{name} {value:g}")
    return ", ".join(words)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) else None
