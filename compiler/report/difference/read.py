"""Reports in files, as `npuc diff` reads them: one, or several of a comparison document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isclose
from typing import Any, cast

import msgspec

from npuc.compiler.core.errors import UsageError
from npuc.compiler.report.as_csv import flat, flat_totals
from npuc.compiler.report.document import SCHEMA
from npuc.compiler.report.report import Report, report_from_json
from npuc.compiler.report.totals import total

COMPARISON = "npuc.comparison/1"
HINT = "it compares what npuc compile --json FILE writes"
MOST = 1e30
"""No amount of a report is larger: sums and products of all are finite."""
SAME = 1e-9
"""How far a sum of seconds may be from what the report says."""


def reports_in(data: bytes, path: str) -> list[Report] | None:
    """
    The reports in a file; None for what is no result of npuc, but may be a source in JSON.

    Raises `UsageError` for a result of another kind, and for one that is broken.
    """
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    found = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    schema = found.get("schema")
    if not isinstance(schema, str) or not schema.startswith("npuc."):
        return None
    if schema not in (SCHEMA, COMPARISON):
        raise UsageError(f"'{path}' is a result of the kind {schema}, expected {SCHEMA}", hint=HINT)
    try:
        if schema == SCHEMA:
            return [checked_report(data)]
        parts: object = found["reports"]
        if not isinstance(parts, list) or not parts:
            raise ValueError("it holds no report")
        return [checked_report(json.dumps(part)) for part in cast("list[object]", parts)]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, msgspec.MsgspecError) as e:
        what = f"{e} is missing" if isinstance(e, KeyError) else str(e)[:160]
        raise UsageError(f"'{path}' is no report to compare: {what}", hint=HINT) from None


def checked_report(text: str | bytes) -> Report:
    """
    A report whose amounts are such as a model may give, and whose totals are those of its rows.

    Raises `ValueError` or `msgspec.ValidationError` for any other.
    """
    report = report_from_json(text)
    for row in report.ops:
        for name, value in flat(cast("dict[str, object]", msgspec.to_builtins(row))):
            if isinstance(value, int | float) and not _possible(name, value):
                raise ValueError(f"row {row.index} has {name} = {value:g}")
        if row.repeat < 1:
            raise ValueError(f"row {row.index} has repeat = {row.repeat}")
    for name, value in (*flat_totals(report.totals).items(), *_native(report)):
        if isinstance(value, int | float) and not -MOST < value < MOST:
            raise ValueError(f"the total of {name} is too large")
    _check_totals(report)
    return report


def _possible(name: str, value: float) -> bool:
    return -MOST < value < MOST and (value >= 0 or name.startswith("native."))


def _native(report: Report) -> Iterator[tuple[str, object]]:
    yield from report.native.items()


def _check_totals(report: Report) -> None:
    """Raise `ValueError` where sums over the rows are not the totals: differences of layers would not add up."""
    summed, said = total(report.ops), report.totals
    for name in ("cycles", "seconds", "macs", "vector_ops", "dram_read_bytes", "dram_write_bytes", "energy_j"):
        own, other = summed[name], said[name]
        same = own == other or (own is not None and other is not None and isclose(own, other, rel_tol=SAME))
        if not same or (isinstance(own, int) and isinstance(other, int) and own != other):
            raise ValueError(f"its rows have {name} = {own} together, and its totals say {other}")
