"""
Reports, and how they are made: of a backend's rows, or read back from JSON.

Several reports of one program become a comparison document, `npuc.comparison/1`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import astuple

from npuc.compiler.core.errors import InternalError
from npuc.compiler.report.as_csv import to_csv, to_frame
from npuc.compiler.report.as_json import block, dumps, to_json
from npuc.compiler.report.as_trace import to_trace
from npuc.compiler.report.certificates import LayerCertificate
from npuc.compiler.report.document import ReportData
from npuc.compiler.report.parallel import Parallel
from npuc.compiler.report.rows import DisplayedData, HardwareDict, OpRow, Scalar
from npuc.compiler.report.totals import total

if TYPE_CHECKING:
    from npuc.compiler.core.display.frame import DataFrame
    from npuc.compiler.core.display.shown import Shown


class Report(DisplayedData, ReportData, frozen=True, kw_only=True):
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

    def to_pandas(self) -> DataFrame:
        """The rows as a table of pandas, with the columns of `to_csv`. Raises `UsageError` without pandas."""
        return to_frame([self])

    def __repr__(self) -> str:
        from npuc.compiler.core.display.words import one_line
        from npuc.compiler.report.shown.report import head_of

        return one_line(head_of(self))

    def shown(self) -> Shown:
        from npuc.compiler.report.shown.report import shown_report

        return shown_report(self)


class Comparison(DisplayedData, frozen=True, kw_only=True):
    """Reports of one program, side by side."""

    schema: str = "npuc.comparison/1"
    reports: list[Report]

    def to_json(self) -> str:
        """The comparison as JSON text."""
        reports = ",\n".join(report.to_json().rstrip("\n") for report in self.reports)
        return block([("schema", dumps(self.schema)), ("reports", f"[\n{reports}\n]")]) + "\n"

    def to_pandas(self) -> DataFrame:
        """The rows of all reports as a table of pandas, `backend` first. Raises `UsageError` without pandas."""
        return to_frame(self.reports)

    def shown(self) -> Shown:
        from npuc.compiler.report.shown.report import shown_comparison

        return shown_comparison(self.reports)


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
