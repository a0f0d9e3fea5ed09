"""Rows of reports as CSV text, and numbers by dotted names, as its columns have them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from npuc.compiler.report.document import ReportData
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.totals import Assumed, Totals, total

if TYPE_CHECKING:
    from npuc.compiler.core.display.frame import DataFrame


def flat(value: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Nested mappings as (dotted key, leaf) pairs, in order."""
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from flat(cast("Mapping[str, object]", item), f"{prefix}{key}.")
        else:
            yield prefix + key, item


def total_names(*, assumed: bool = False) -> list[str]:
    """
    The names of all totals, nested ones dotted: `seconds`, `seconds_by_kind.matrix`.

    `assumed`: with those of shares that are assumed, which a report has only where something is.
    """
    shares = [f"assumed.{name}" for name in Assumed.__struct_fields__] if assumed else []
    return [*flat_totals(total([])), *shares]


def flat_totals(totals: Totals) -> dict[str, int | float | None]:
    """Totals by name, nested ones dotted."""
    return cast("dict[str, int | float | None]", dict(flat(msgspec.to_builtins(totals))))


def nested_totals(values: Mapping[str, int | float | None]) -> Totals:
    """The inverse of `flat_totals`. Raises `msgspec.ValidationError` for anything else."""
    result: dict[str, object] = {}
    for name, value in values.items():
        table, dot, leaf = name.partition(".")
        if dot:
            cast("dict[str, object]", result.setdefault(table, {}))[leaf] = value
        else:
            result[name] = value
    return msgspec.convert(result, Totals)


def cell(value: object) -> str:
    """A value as a cell of a CSV file: a float as `repr` does, nothing for None."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list():
            return ",".join(cell(v) for v in cast("list[object]", value))
        case _:
            return str(value)


def csv_text(*lines: Iterable[object]) -> str:
    """Lines of values as CSV text: every value as `cell` writes it."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([cell(value) for value in line] for line in lines)
    return out.getvalue()


def rows_table(reports: Sequence[ReportData]) -> tuple[list[str], list[list[object]]]:
    """
    The rows of reports as a table, names of columns and rows of values: one per operation, nested keys dotted.

    Columns stand in the order of the report's fields; those that only some rows have (`tensors.dY.read_bytes`) at the
    place of their table. With several reports the first column is `backend`.
    """
    several = len(reports) > 1
    table = [
        ({"backend": report.backend} if several else {}) | dict(flat(msgspec.to_builtins(row)))
        for report in reports
        for row in report.ops
    ]
    fields = (["backend"] if several else []) + list(OpRow.__struct_fields__)
    columns: dict[str, list[str]] = {field: [] for field in fields}
    known: set[str] = set()
    for line in table:
        for key in line:
            if key not in known:
                known.add(key)
                columns[key.partition(".")[0]].append(key)
    names = [key for field in fields for key in columns[field]]
    return names, [[line.get(name) for name in names] for line in table]


def to_csv(reports: Sequence[ReportData]) -> str:
    """The rows of reports as CSV text: `rows_table`, lists joined by commas, an empty cell for None."""
    names, rows = rows_table(reports)
    return csv_text(names, *rows)


def to_frame(reports: Sequence[ReportData]) -> DataFrame:
    """The same table as one of pandas. Raises `UsageError` without pandas."""
    from npuc.compiler.core.display.frame import frame

    first = reports[0] if reports else None
    about = {} if first is None else {"network": first.network, "hardware": first.hardware.get("name", "custom")}
    backends = ",".join(report.backend for report in reports)
    return frame(*rows_table(reports), {**about, "backend": backends})
