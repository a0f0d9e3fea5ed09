"""
A report as a timeline in the trace-event format, which Perfetto and chrome://tracing open.

`timeline/` defines the tracks. Times of the format are microseconds (Google, "Trace Event Format"). Perfetto
rounds each of them to nanoseconds by itself and drops a slice that then reaches into the next one of its track, so
slices begin and end at whole nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from npuc.compiler.core.errors import UsageError
from npuc.compiler.report.document import ReportData
from npuc.compiler.report.timeline.parts import tracks_of
from npuc.compiler.report.timeline.slices import slices_of

PROCESS = 1


def to_trace(report: ReportData) -> str:
    """
    The timeline of a report as JSON text that ends in a newline; times in microseconds, one event a line.

    Raises `UsageError` for a report without cycles or without a clock.
    """
    clock = report.hardware.get("clock_mhz")
    if not isinstance(clock, int | float) or not clock:
        raise UsageError("a timeline needs the clock of the hardware", hint="--set clock_mhz=N")
    if report.ops and report.totals.cycles is None:
        raise UsageError(f"the backend '{report.backend}' does not model cycles, so there is no timeline")
    events = ",\n".join(json.dumps(e, ensure_ascii=False, allow_nan=False) for e in _events(report, float(clock)))
    other = {"npuc": report.npuc, "backend": report.backend, "hardware": report.hardware.get("name")}
    head = f'{{"displayTimeUnit": "ns", "otherData": {json.dumps(other, ensure_ascii=False)}, "traceEvents": [\n'
    return head + events + "\n]}\n"


def _events(report: ReportData, clock: float) -> Iterator[dict[str, object]]:
    """Names of the process and the tracks, then the slices in program order."""
    name = f"{report.network or report.source} ({report.backend})"
    yield {"ph": "M", "pid": PROCESS, "tid": 0, "ts": 0, "name": "process_name", "args": {"name": name}}
    for index, (number, track) in enumerate(tracks_of(report), 1):
        place: dict[str, object] = {"ph": "M", "pid": PROCESS, "tid": number, "ts": 0}
        yield place | {"name": "thread_name", "args": {"name": track}}
        yield place | {"name": "thread_sort_index", "args": {"sort_index": index}}
    for one in slices_of(report, clock):
        first, last = _nanoseconds(one.begin), _nanoseconds(one.end)
        time = {"ts": first / 1000, "dur": (last - first) / 1000}
        event: dict[str, object] = {"ph": "X", "pid": PROCESS, "tid": one.track, **time}
        yield event | {"name": one.name, "cat": one.category, "args": one.facts}


def _nanoseconds(seconds: float) -> int:
    """A time in whole nanoseconds; a later one is never earlier."""
    return round(seconds * 1e9)
