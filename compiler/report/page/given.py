"""What a report was made from: the keys of the machine, the program, its passes and options, and warnings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from npuc.compiler.report.page.model import Facts
from npuc.compiler.report.report import Report


def given_to(report: Report) -> Iterable[Facts]:
    """What the report was made from: the machine by hardware keys, the program, and warnings."""
    entries: list[tuple[str, str]] = []
    for key, value in report.hardware.items():
        if isinstance(value, dict):
            entries += [(f"{key}.{name}", _text(one)) for name, one in value.items()]
        else:
            entries.append((key, _text(value)))
    yield Facts(title="Machine", entries=entries, folded=True)
    made = [("source", report.source), ("precision", report.precision), ("passes", report.pipeline or "none")]
    made += [(f"-D {name}", _text(value)) for name, value in report.defines.items()]
    made += [(f"{key} follows from", how) for key, how in report.derived.items()]
    yield Facts(title="Program", entries=[*made, *(("warning", text) for text in report.warnings)])


def _text(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(_text, cast("list[object]", value)))
    if isinstance(value, dict):
        return " ".join(f"{name} {_text(one)}" for name, one in cast("dict[str, object]", value).items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
