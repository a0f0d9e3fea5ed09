"""
The difference of two reports, with the causes of time that their backends tell apart.

    difference = diff_reports(compile_file("old.dsl"), compile_file("new.dsl"))
    print(difference.verdict)
"""

from __future__ import annotations

from typing import cast

from npuc.backends.registry import get_backend
from npuc.compiler.core.errors import NpucError, UsageError
from npuc.compiler.report.causes import Parts, parts_by_limit
from npuc.compiler.report.difference.amounts import PartsOf
from npuc.compiler.report.difference.compare import compare
from npuc.compiler.report.difference.result import Difference
from npuc.compiler.report.report import Report
from npuc.compiler.report.rows import OpRow


def diff_reports(a: Report, b: Report) -> Difference:
    """
    What differs between two reports, layer by layer, and why: B less A. Raises `TypeError` for what are no reports.

    Layers are the same by name, then by shape and place; amounts of what is in one report alone count as 0 in the
    other, so that the differences of all layers add up to those of the totals.
    """
    for name, report in (("a", a), ("b", b)):
        if not isinstance(cast("object", report), Report):
            raise TypeError(f"{name}: expected a Report, got {type(report).__name__}")
    return compare(a, b, _parts_of(a), _parts_of(b))


def _parts_of(report: Report) -> PartsOf:
    """The causes of time that a report's backend tells apart; by the limits of the rows where it is not there."""
    try:
        model = get_backend(report.backend)
    except UsageError:
        return parts_by_limit
    known: dict[int, Parts] = {}

    def parts(row: OpRow) -> Parts:
        found = known.get(id(row))
        if found is None:
            try:
                found = model.time_parts(row)
            except (NpucError, ArithmeticError):
                found = parts_by_limit(row)
            known[id(row)] = found
        return found

    return parts
