"""
A report as a timeline in the trace-event format, which Perfetto and chrome://tracing open.

Four tracks show the resources: the array, the vector unit, and the DRAM channel inwards and outwards; on a chip of
several cores every array has its own. Operations run one after another. Each has a slice on every resource that it
uses, as long as that works for it: loads from the operation's start, stores until its end, the array from the end of
the first load. An operation that runs several times is one slice of all its runs. A slice of an array says how much of
it are waits of folds for what crosses that array's edge.

Times of the format are microseconds (Google, "Trace Event Format"). Perfetto rounds each of them to nanoseconds by
itself and drops a slice that then reaches into the next one of its track, so slices begin and end at whole nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npuc.compiler.core.errors import UsageError
from npuc.compiler.report.document import ReportData
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import CoreFacts, EdgeFacts, TransferFacts

TRACKS = ("array", "vector unit", "DRAM in", "DRAM out")
ARRAY, VECTOR, READS, WRITES = range(1, len(TRACKS) + 1)
PROCESS = 1


@dataclass(frozen=True)
class _Slice:
    """The work of a resource for an operation: track, begin after the operation's own, duration in cycles; its core."""

    track: int
    begin: float
    duration: float
    core: int = 0


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
    for index, (number, track) in enumerate(_tracks(report), 1):
        place: dict[str, object] = {"ph": "M", "pid": PROCESS, "tid": number, "ts": 0}
        yield place | {"name": "thread_name", "args": {"name": track}}
        yield place | {"name": "thread_sort_index", "args": {"sort_index": index}}
    begin = 0
    double_buffer = _double_buffer(report)
    for row in report.ops:
        if not row.cycles:
            continue
        end = begin + row.repeat * row.cycles
        for part in _slices(row, double_buffer=double_buffer):
            first = _nanoseconds(begin + part.begin, clock)
            last = _nanoseconds(min(begin + part.begin + part.duration, end), clock)
            time = {"ts": first / 1000, "dur": (last - first) / 1000}
            event: dict[str, object] = {"ph": "X", "pid": PROCESS, "tid": part.track, **time}
            yield event | {"name": f"{row.name or row.op} {row.phase}", "cat": row.kind, "args": _args(row, part.core)}
        begin = end


def _tracks(report: ReportData) -> list[tuple[int, str]]:
    """The tracks with their numbers, from top to bottom."""
    cores = max((len(_work(row)) for row in report.ops), default=1)
    named: list[tuple[int, str]] = [*enumerate(TRACKS, 1)]
    if cores < 2:
        return named
    return [*((_array(core), f"array of core {core}") for core in range(cores)), *named[1:]]


def _array(core: int) -> int:
    """The number of the track of a core's array."""
    return len(TRACKS) + core if core else ARRAY


def _work(row: OpRow) -> Sequence[float]:
    """The cycles of each core's array, or of the unit that works."""
    work = row.compute_cycles if row.compute_cycles is not None else row.cycles
    cores = CoreFacts.found_in(row)
    return [work or 0] if cores is None else cores.core_compute_cycles


def _edge_cycles(row: OpRow, core: int) -> int | None:
    """The cycles of a core's array that are waits for its edge; none of a unit that has none."""
    cores, edge = CoreFacts.found_in(row), EdgeFacts.found_in(row)
    if cores is not None and cores.core_edge_cycles:
        return cores.core_edge_cycles[core]
    return None if edge is None else edge.edge_cycles


def _nanoseconds(cycles: float, clock: float) -> int:
    """A time in whole nanoseconds; a later one is never earlier."""
    return round(cycles * 1000 / clock)


def _double_buffer(report: ReportData) -> bool:
    memory = report.hardware.get("memory")
    return not isinstance(memory, dict) or memory.get("double_buffer") is not False


def _slices(row: OpRow, *, double_buffer: bool) -> Iterator[_Slice]:
    """
    What works for an operation, and when; all its runs.

    One DRAM channel serves both directions, so its time is divided by their bytes. A model without a channel has no
    slices of it.
    """
    cycles, runs = row.cycles or 0, row.repeat
    channel = TransferFacts.found_in(row)
    read, written = row.dram_read_bytes or 0, row.dram_write_bytes or 0
    stored = loaded = 0.0
    if channel is not None and read + written:
        stored = channel.transfer_cycles * written / (read + written)
        loaded = channel.transfer_cycles - stored
    for core, work in enumerate(_work(row)):
        if not work:
            continue
        first = None if channel is None else channel.first_load_bytes
        lead = loaded
        if double_buffer:
            lead = loaded * first / read if first is not None and read else 0.0
        lead = min(lead, cycles - work)
        yield _Slice(VECTOR if row.kind == "vector" else _array(core), runs * lead, runs * work, core)
    if loaded:
        yield _Slice(READS, 0.0, runs * loaded)
    if stored:
        yield _Slice(WRITES, runs * (cycles - stored), runs * stored)


def _args(row: OpRow, core: int) -> dict[str, object]:
    """What a viewer shows of a slice: of one run, as the report says it; what the edge costs, of that core's array."""
    shown = {
        "phase": row.phase,
        "layer": row.name,
        "op": row.op,
        "repeat": row.repeat,
        "cycles": row.cycles,
        "stall_cycles": row.stall_cycles,
        "edge_cycles": _edge_cycles(row, core),
        "read_bytes": row.dram_read_bytes,
        "write_bytes": row.dram_write_bytes,
        "limit": row.limit,
        "utilization": row.utilization,
        "source": row.loc,
    }
    return {name: value for name, value in shown.items() if value is not None}
