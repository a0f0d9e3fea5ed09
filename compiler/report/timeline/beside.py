"""The timeline of a step whose gradients are summed beside work: each slice where the report says that it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuc.compiler.report.document import ReportData
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import BeginFacts, ExchangeStages, OverlapFacts
from npuc.compiler.report.timeline.parts import (
    COMM,
    WAIT,
    Slice,
    exchange_args,
    has_double_buffer,
    network_track,
    slice_name,
    tracks_of,
    work_args,
    work_slices,
)


def slices_beside(report: ReportData, clock_mhz: float) -> Iterator[Slice]:
    """The slices of the whole step: those of one track in the order of time, none before another of it ends."""
    rows = sorted(_begun(report), key=lambda pair: pair[0])
    work = [(begin, row) for begin, row in rows if OverlapFacts.found_in(row) is None]
    exchanges = [row for _, row in rows if OverlapFacts.found_in(row) is not None]
    first = network_track(report, 0)
    devices = [track for track, _ in tracks_of(report) if track < first]
    beside = [*_working(report, work, clock_mhz), *_waiting(exchanges, devices)]
    yield from sorted(beside, key=lambda one: (one.begin, one.end))
    yield from _moving(report, exchanges)


def _begun(report: ReportData) -> Iterator[tuple[float, OpRow]]:
    for row in report.ops:
        facts = BeginFacts.found_in(row)
        if facts is not None:
            yield facts.begin_seconds, row


def _working(report: ReportData, work: Sequence[tuple[float, OpRow]], clock_mhz: float) -> Iterator[Slice]:
    """The slices of work on the resources of a device."""
    double_buffer = has_double_buffer(report)
    for begin, row in work:
        last = row.repeat * (row.cycles or 0)
        for part in work_slices(row, double_buffer=double_buffer) if row.cycles else ():
            ends = (part.begin, min(part.begin + part.duration, last))
            since, until = (begin + at / (clock_mhz * 1e6) for at in ends)
            yield Slice(part.track, since, until, slice_name(row), row.kind, work_args(row, part.core))


def _waiting(exchanges: Sequence[OpRow], devices: Sequence[int]) -> Iterator[Slice]:
    """The exposed times, in which all of a device waits: each ends with the exchange that it waits for."""
    for row in sorted(exchanges, key=lambda row: _end(row)):
        exposed, end = row.repeat * (row.seconds or 0.0), _end(row)
        if exposed:
            name = f"waits for {_kind(row)} of {row.name}"
            for track in devices:
                yield Slice(track, end - exposed, end, name, WAIT, exchange_args(row))


def _moving(report: ReportData, exchanges: Sequence[OpRow]) -> Iterator[Slice]:
    """The times in which levels of the network work, and those between them, in which they wait."""
    spans: dict[int, list[tuple[float, float, OpRow]]] = {}
    for row in exchanges:
        stages, facts = ExchangeStages.found_in(row), OverlapFacts.found_in(row)
        if stages is not None and facts is not None:
            begins = stages.stage_begins or [0.0] * len(stages.stage_levels)
            for level, begin, seconds in zip(stages.stage_levels, begins, stages.stage_seconds, strict=True):
                since = facts.begin_seconds + begin
                spans.setdefault(level, []).append((since, since + seconds, row))
    for level, own in sorted(spans.items()):
        track, last = network_track(report, level), 0.0
        for begin, end, row in sorted(own, key=lambda span: span[:2]):
            begin = max(begin, last)
            if last < begin:
                yield Slice(track, last, begin, "waits for work or other levels", WAIT)
            last = max(begin, end)
            yield Slice(track, begin, last, f"{row.name} {_kind(row)}", COMM, exchange_args(row))


def _kind(row: OpRow) -> str:
    return row.op.rpartition(".")[2]


def _end(row: OpRow) -> float:
    facts = OverlapFacts.found_in(row)
    assert facts is not None, "only exchanges beside work are asked"
    return facts.end_seconds
