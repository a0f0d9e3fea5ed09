"""
Reports, and how they are made: of a backend's rows, or read back from JSON.

Several reports of one program become a comparison document, `npuc.comparison/1`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import astuple

from npuc.compiler.core.errors import InternalError
from npuc.compiler.report.as_csv import to_csv
from npuc.compiler.report.as_json import block, dumps, to_json
from npuc.compiler.report.as_trace import to_trace
from npuc.compiler.report.certificates import LayerCertificate
from npuc.compiler.report.document import ReportData
from npuc.compiler.report.parallel import Parallel
from npuc.compiler.report.rows import HardwareDict, OpRow, Scalar
from npuc.compiler.report.totals import total


class Report(ReportData, frozen=True, kw_only=True):
    """The cost of one training step (or forward pass) on one backend and one machine."""

    def to_json(self) -> str:
        """The report as JSON text, one row per line; the same report always gives the same bytes."""
        return to_json(self)

    def to_csv(self) -> str:
        """The rows as CSV text, nested keys dotted, an empty cell for None."""
        return to_csv([self])

    def to_trace(self) -> str:
        """The timeline of the step in the trace-event format, as JSON text. Raises `UsageError` without cycles."""
        return to_trace(self)


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Reports of one program, side by side."""

    schema: str = "npuc.comparison/1"
    reports: list[Report]

    def to_json(self) -> str:
        """The comparison as JSON text."""
        reports = ",\n".join(report.to_json().rstrip("\n") for report in self.reports)
        return block([("schema", dumps(self.schema)), ("reports", f"[\n{reports}\n]")]) + "\n"


def _check_finite(row: OpRow) -> None:
    """Raise `InternalError` for a number that is not finite, which neither JSON nor totals can represent."""
    values = (*astuple(row), *row.native.values())
    wrong = [n for n, value in enumerate(values) if isinstance(value, float) and not math.isfinite(value)]
    if wrong:
        name = (*row.__struct_fields__, *row.native)[wrong[0]]
        raise InternalError(f"row {row.index} ({row.name}, {row.phase}) has {name} = {values[wrong[0]]}")


def make_report(
    backend: str,
    hardware: HardwareDict,
    rows: Sequence[OpRow],
    *,
    network: str = "",
    warnings: Sequence[str] = (),
    native: Mapping[str, Scalar] | None = None,
    certificates: Sequence[LayerCertificate] | None = None,
    parallel: Parallel | None = None,
) -> Report:
    """
    The report of a backend's rows, with totals.

    The driver fills in what a backend does not know: version, source, pipeline, defines. Raises `InternalError` for a
    number that is NaN or infinite.
    """
    for row in {id(row): row for row in rows}.values():
        _check_finite(row)
    return Report(
        network=network,
        backend=backend,
        hardware=hardware,
        warnings=list(warnings),
        totals=total(rows),
        ops=list(rows),
        native=dict(native or {}),
        certificates=None if certificates is None else list(certificates),
        parallel=parallel,
    )


def report_from_json(text: str | bytes) -> Report:
    """The report that a JSON text holds. Raises `msgspec.ValidationError` for anything else."""
    return msgspec.json.decode(text, type=Report)


def report_schema() -> dict[str, object]:
    """The JSON Schema of a report, from the classes. `report_schema.json` is this, written down."""
    head: dict[str, object] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "npuc.report/1"}
    return head | msgspec.json.schema(Report)
