"""
A report as slices of time on tracks: the work of each resource, and its waits for communication.

Four tracks show the resources of a device: the array, the vector unit, and the DRAM channel inwards and outwards; on a
chip of several cores every array has its own. Operations run one after another. Each has a slice on every resource that
it uses, as long as that works for it: loads from the operation's start, stores until its end, the array from the end of
the first load. An operation that runs several times is one slice of all its runs.

Where devices exchange data over a network, each level of that network has a track, on which the stages of a collective
follow each other; of one in chunks, the times in which the level works for some of them. Work and exchanges alternate,
as the report adds them up: while devices exchange data, every track of a device has a wait that names the exchange;
before an exchange, the tracks of the network have a wait that names the work. Where gradients are summed in buckets,
work and exchanges are where the report says that they run, and devices wait for what is exposed (`beside.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from npuc.compiler.report.document import ReportData
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import ExchangeFacts, ExchangeStages, OverlapFacts
from npuc.compiler.report.timeline.beside import slices_beside
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


def slices_of(report: ReportData, clock_mhz: float) -> Iterator[Slice]:
    """The slices of the whole step: those of one track in the order of time, none before another of it ends."""
    if any(OverlapFacts.found_in(row) is not None for row in report.ops):
        yield from slices_beside(report, clock_mhz)
        return
    exchanges: dict[int, list[OpRow]] = {}
    for row in report.ops:
        if ExchangeStages.found_in(row) is not None:
            facts = ExchangeFacts.found_in(row)
            exchanges.setdefault(-1 if facts is None or facts.after is None else facts.after, []).append(row)
    network = _NetworkTracks(report)
    cycles, exchanged = 0, 0.0
    double_buffer = has_double_buffer(report)
    for row in (None, *report.ops):
        if row is not None and row.cycles:
            begin, last = cycles, cycles + row.repeat * row.cycles
            for part in work_slices(row, double_buffer=double_buffer):
                ends = (begin + part.begin, min(begin + part.begin + part.duration, last))
                first, end = (exchanged + at / (clock_mhz * 1e6) for at in ends)
                yield Slice(part.track, first, end, slice_name(row), row.kind, work_args(row, part.core))
            cycles = last
            network.work = slice_name(row)
        for exchange in exchanges.get(-1 if row is None else row.index, ()):
            begin = exchanged + cycles / (clock_mhz * 1e6)
            yield from network.slices(exchange, begin)
            exchanged += exchange.repeat * (exchange.seconds or 0.0)


@dataclass
class _NetworkTracks:
    """Slices of exchanges: `work` is the last before them, `until` the end of each track so far."""

    report: ReportData
    work: str = "the step"
    until: dict[int, float] = field(default_factory=dict[int, float])

    def slices(self, row: OpRow, begin: float) -> Iterator[Slice]:
        """The stages of an exchange that begins at a time, and the waits for it."""
        stages = ExchangeStages.found_in(row)
        assert stages is not None, "only such rows have slices"
        kind = row.op.rpartition(".")[2]
        end = begin + row.repeat * (row.seconds or 0.0)
        for track, _ in tracks_of(self.report):
            if not self._is_level(track):
                yield Slice(track, begin, end, f"waits for {kind} of {row.name}", WAIT, exchange_args(row))
        for level, first, last in _stage_times(stages, row.repeat):
            track, at = network_track(self.report, level), begin + first
            yield from self._wait(track, begin, f"waits for {self.work}")
            yield from self._wait(track, at, f"waits for {kind} on other levels")
            self.until[track] = min(begin + last, end)
            yield Slice(track, at, self.until[track], f"{row.name} {kind}", COMM, exchange_args(row))

    def _is_level(self, track: int) -> bool:
        return track >= network_track(self.report, 0)

    def _wait(self, track: int, until: float, name: str) -> Iterator[Slice]:
        since = self.until.get(track, 0.0)
        if since < until:
            yield Slice(track, since, until, name, WAIT)
            self.until[track] = until


def _stage_times(stages: ExchangeStages, repeat: int) -> Iterator[tuple[int, float, float]]:
    """The level of each stage, and when it begins and ends after the exchange does, in seconds of all its runs."""
    begins, at = stages.stage_begins, 0.0
    for number, (level, seconds) in enumerate(zip(stages.stage_levels, stages.stage_seconds, strict=True)):
        first = at if begins is None else repeat * begins[number]
        at = first + repeat * seconds
        yield level, first, at
