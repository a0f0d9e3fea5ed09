"""Tables to draw: rows with varied keys and numbers, of a sweep or of reports, also from the files that hold them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, cast

import msgspec

from npuc.compiler.core.drawing.palette import PHASES
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.plot.metrics import METRICS, Numbers
from npuc.compiler.explore.plot.pipelines import KEY, PipelineLabels, short_pipelines
from npuc.compiler.report import Report, report_from_json
from npuc.compiler.report.as_csv import flat
from npuc.compiler.report.as_json import block, dumps

SWEEP, REPORT, COMPARISON = "npuc.sweep/1", "npuc.report/1", "npuc.comparison/1"
OF_OPERATIONS = ("backend", "name", "phase", "kind", "op", "limit")
"""The keys of the operations of reports, by which their numbers are summed."""


@dataclass(frozen=True)
class PlotTable:
    """
    What is drawn: `keys` with their values in order, and `rows`, each with a value of every key, and numbers.

    Of `points` each combination of keys is one row, in the order of the keys, of which the last varies fastest; rows of
    operations are summed where several have the same. `metric` is what rows are compared by, and `by_mac` says that
    they do not all do the same work (`work`, in MACs).
    """

    title: str
    keys: Mapping[str, tuple[Any, ...]]
    rows: tuple[Numbers, ...]
    metric: str
    points: bool = True
    by_mac: bool = False

    @cached_property
    def pipelines(self) -> PipelineLabels:
        """The labels of the pipelines that are varied, if they are."""
        return short_pipelines(self.keys.get(KEY, ()))

    @property
    def numbers(self) -> list[str]:
        """The names of what rows have numbers of."""
        names = dict.fromkeys(name for row in self.rows for name, value in row.items() if _is_number(value))
        return [name for name in names if name not in self.keys and name not in ("devices", "work")]

    @property
    def metrics(self) -> list[str]:
        """The names of metrics that rows have."""
        return [
            *(name for name, metric in METRICS.items() if any(metric.of(row) is not None for row in self.rows)),
            *self.numbers,
        ]

    def to_json(self) -> str:
        """The table as a file that `read_table` reads."""
        keys = [{"key": key, "values": list(values)} for key, values in self.keys.items()]
        fields = {"schema": SWEEP, "title": self.title, "objective": self.metric, "by_mac": self.by_mac, "keys": keys}
        rows = ",\n".join(f"    {dumps(dict(row))}" for row in self.rows)
        return block([*((name, dumps(value)) for name, value in fields.items()), ("points", f"[\n{rows}\n  ]")]) + "\n"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def table_of_reports(reports: Sequence[Report]) -> PlotTable:
    """The operations of reports."""
    rows = [dict(_operation(report, op)) for report in reports for op in report.ops]
    keys = {key: tuple(dict.fromkeys(row[key] for row in rows)) for key in OF_OPERATIONS}
    keys["phase"] = tuple(phase for phase in PHASES if phase in keys["phase"])
    first = reports[0]
    title = f"{first.network} ({first.source}) on {first.hardware.get('name', 'custom')}"
    return PlotTable(title, {key: values for key, values in keys.items() if values}, tuple(rows), "time", points=False)


def _operation(report: Report, op: msgspec.Struct) -> Iterator[tuple[str, object]]:
    """The keys and numbers of a row; counts are those of all its repetitions."""
    fields = cast("dict[str, Any]", msgspec.to_builtins(op))
    yield "backend", report.backend
    for name, value in flat(fields):
        if name in OF_OPERATIONS:
            yield name, value or "none"
        elif _is_number(value) and name not in ("index", "repeat", "utilization"):
            yield name, cast("float", value) * fields.get("repeat", 1)


HINT = "npuc sweep --json FILE and npuc compile --json FILE write tables"
MOST = 1e300
"""No number of a file is larger: sums and shares of all are finite."""


def read_table(data: bytes, path: str) -> PlotTable:
    """The table in a file: points that `npuc sweep --json` wrote, or reports. Raises `UsageError` for any other."""
    reports = read_reports(data, path)
    if reports is not None:
        return table_of_reports(reports)
    try:
        return _table_of_points(msgspec.json.decode(data, type=_Points))
    except (ValueError, KeyError, msgspec.MsgspecError) as e:
        raise _no_table(path, e) from None


def read_reports(data: bytes, path: str) -> list[Report] | None:
    """The reports in a file; None for points of a sweep. Raises `UsageError` for anything else."""
    try:
        document: object = json.loads(data)
        schema = cast("dict[str, Any]", document).get("schema") if isinstance(document, dict) else None
        if schema == SWEEP:
            return None
        if schema == REPORT:
            return [_read_report(data)]
        if schema == COMPARISON:
            parts = cast("dict[str, Any]", document)["reports"]
            if not parts:
                raise ValueError("it holds no report")
            return [_read_report(json.dumps(part)) for part in parts]
    except (ValueError, KeyError, TypeError, RecursionError, msgspec.MsgspecError) as e:
        raise _no_table(path, e) from None
    raise UsageError(f"'{path}' is no table to draw", hint=HINT)


def _no_table(path: str, error: Exception) -> UsageError:
    what = f"{error} is missing" if isinstance(error, KeyError) else str(error)[:120]
    return UsageError(f"'{path}' is no table to draw: {what}", hint=HINT)


def _read_report(text: str | bytes) -> Report:
    """A report of whose amounts none is negative. Raises `ValueError` for what cannot be one."""
    report = report_from_json(text)
    for row in report.ops:
        for name, value in flat(cast("dict[str, object]", msgspec.to_builtins(row))):
            if isinstance(value, int | float) and not 0 <= value < MOST and not name.startswith("native."):
                raise ValueError(f"row {row.index} has {name} = {value:g}")
        if row.repeat < 1:
            raise ValueError(f"row {row.index} has repeat = {row.repeat}")
    if not 0 <= (report.totals.seconds or 0.0) < MOST:
        raise ValueError(f"the total of seconds is {report.totals.seconds}")
    return report


class _Key(msgspec.Struct):
    key: str
    values: tuple[bool | str | int | float, ...]


class _Points(msgspec.Struct):
    """A sweep as its file has it."""

    title: str
    objective: str
    by_mac: bool
    keys: tuple[_Key, ...]
    points: tuple[dict[str, bool | str | int | float | None], ...]


def _table_of_points(file: _Points) -> PlotTable:
    """The table of a sweep's points. Raises `ValueError` and `KeyError` for what is none."""
    keys, rows = {key.key: key.values for key in file.keys}, file.points
    for key, values in keys.items():
        if not values or len(set(values)) < len(values) or not all(map(_is_drawn, values)):
            raise ValueError(f"the values of {key} are not different words and numbers")
    found = {tuple(row[key] for key in keys) for row in rows}
    if not keys or len(keys) < len(file.keys) or len(found) < len(rows) or len(rows) != prod(map(len, keys.values())):
        raise ValueError("it does not have one point for each combination of its keys")
    for row in rows:
        for key, values in keys.items():
            if row[key] not in values:
                raise ValueError(f"a point has {key}={row[key]}, which is no value of the key")
        for name, value in row.items():
            if value is not None and not (_is_amount(value) if name in AMOUNTS else _is_drawn(value)):
                raise ValueError(f"a point has {name}={value!r}")
    if file.objective not in METRICS:
        raise ValueError(f"'{file.objective}' is no metric")
    return PlotTable(file.title, keys, rows, file.objective, by_mac=file.by_mac)


AMOUNTS = frozenset(("devices", "work", *(part for metric in METRICS.values() for part in metric.parts)))
"""What points have that metrics count with."""


def _is_drawn(value: bool | str | float) -> bool:
    return isinstance(value, str) or abs(value) < MOST


def _is_amount(value: bool | str | float) -> bool:
    return not isinstance(value, bool | str) and 0 <= value < MOST
