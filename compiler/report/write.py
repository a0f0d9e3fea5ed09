"""
A report as text for machines: JSON, CSV, and the JSON Schema that ships beside this file.

Floats are written as `repr` does. Several reports of one program become a comparison document, `npuc.comparison/1`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import msgspec

from npuc.compiler.core.errors import InternalError
from npuc.compiler.report.heterogeneous import UnequalReport
from npuc.compiler.report.model import OpRow, Report, Totals
from npuc.compiler.report.plan import PlanReport
from npuc.compiler.report.reuse import ReuseReport
from npuc.compiler.report.totals import total

LINES = ("ops", "certificates", "scopes", "curve", "layers")
"""Lists of which each entry is a line."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Reports of one program, side by side."""

    schema: str = "npuc.comparison/1"
    reports: list[Report]

    def to_json(self) -> str:
        """The comparison as JSON text."""
        return to_json(self)


def _dumps(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError as e:
        raise InternalError(f"a report holds a number that JSON cannot write: {e}") from e


def _block(pairs: Iterable[tuple[str, str]]) -> str:
    return "{\n" + ",\n".join(f"  {_dumps(key)}: {text}" for key, text in pairs) + "\n}"


def _list(items: Iterable[str]) -> str:
    text = ",\n".join(f"    {item}" for item in items)
    return f"[\n{text}\n  ]" if text else "[]"


def to_json(document: Report | Comparison | ReuseReport | PlanReport | UnequalReport) -> str:
    """A report or comparison as JSON text that ends in a newline. Deterministic; raises `InternalError` for NaN."""
    if isinstance(document, Comparison):
        reports = ",\n".join(to_json(r).rstrip("\n") for r in document.reports)
        return _block([("schema", _dumps(document.schema)), ("reports", f"[\n{reports}\n]")]) + "\n"
    fields = cast("dict[str, object]", msgspec.to_builtins(document))
    lines = {key: cast("list[object]", fields[key]) for key in LINES if fields.get(key) is not None}
    return _block((k, _list(map(_dumps, lines[k])) if k in lines else _dumps(v)) for k, v in fields.items()) + "\n"


def report_from_json(text: str | bytes) -> Report:
    """The report that a JSON text holds. Raises `msgspec.ValidationError` for anything else."""
    return msgspec.json.decode(text, type=Report)


def flat(value: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Nested mappings as (dotted key, leaf) pairs, in order."""
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from flat(cast("Mapping[str, object]", item), f"{prefix}{key}.")
        else:
            yield prefix + key, item


def total_names() -> list[str]:
    """The names of all totals, nested ones dotted: `seconds`, `seconds_by_kind.matrix`."""
    return list(flat_totals(total([])))


def flat_totals(totals: Totals) -> dict[str, int | float | None]:
    """Totals by name, nested ones dotted."""
    return cast("dict[str, int | float | None]", dict(flat(msgspec.to_builtins(totals))))


def nested_totals(values: Mapping[str, int | float | None]) -> Totals:
    """The totals that `flat_totals` has taken apart. Raises `msgspec.ValidationError` for anything else."""
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


def to_csv(reports: Sequence[Report]) -> str:
    """
    The rows of reports as CSV text: one row an operation, nested keys dotted, lists joined by commas.

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
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([cell(line.get(name)) for name in names] for line in table)
    return out.getvalue()


def report_schema() -> dict[str, object]:
    """The JSON Schema of a report, from the classes. `report_schema.json` is this, written down."""
    head: dict[str, object] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "npuc.report/1"}
    return head | msgspec.json.schema(Report)
