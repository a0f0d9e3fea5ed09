"""What a sweep has to tell of its points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from npuc.compiler.core.errors import NpucError
from npuc.compiler.report import Report
from npuc.compiler.report.as_csv import cell


class Said(dict[str, None]):
    """Messages in the order in which they were first said."""

    def add(self, text: str) -> None:
        """Keep a message, once."""
        self[text] = None


def warned(warnings: Iterable[str], report: Report) -> Iterator[str]:
    """The lines of warnings, those of a report among them."""
    return (f"warning: {warning}" for warning in (*warnings, *report.warnings))


def point_text(values: Mapping[str, Any]) -> str:
    """A point in a line: `memory.spm_kib=1024, batch=8`."""
    return ", ".join(f"{key}={cell(value)}" for key, value in values.items())


def one_line(error: NpucError) -> str:
    """An error in one line: its place and its message."""
    place = "" if error.location is None else f"{error.location}: "
    return " ".join(f"{place}{error.message}".split())
