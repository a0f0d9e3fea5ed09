"""
A report as slices of time on tracks: the work of each resource, and its waits for communication.

Four tracks show the resources of a device: the array, the vector unit, and the DRAM channel inwards and outwards; on a
chip of several cores every array has its own. Operations run one after another. Each has a slice on every resource that
it uses, as long as that works for it: loads from the operation's start, stores until its end, the array from the end of
the first load. An operation that runs several times is one slice of all its runs.

Where devices exchange data over a network, each level of that network has a track, on which the stages of a collective
follow each other; of one in chunks, the times in which the level works for some of them. Work and exchanges alternate,
as the report adds them up: while devices exchange data, every track of a device has a wait that names the exchange;
before an exchange, the tracks of the network have a wait that names the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from npuc.compiler.report.document import ReportData
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import (
    CoreFacts,
    EdgeFacts,
    ExchangeChunks,
    ExchangeFacts,
    ExchangeStages,
    TransferFacts,
)

TRACKS = ("array", "vector unit", "DRAM in", "DRAM out")
ARRAY, VECTOR, READS, WRITES = range(1, len(TRACKS) + 1)
COMM = "comm"
WAIT = "wait"


@dataclass(frozen=True)
class Slice:
    """The work or wait of a resource: track, begin and end in seconds of the step, and the details for a viewer."""

    track: int
    begin: float
    end: float
    name: str
    category: str
    facts: dict[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class _Work:
    """The work of a resource for an operation: track, begin after the operation's own, duration in cycles; its core."""

    track: int
    begin: float
    duration: float
    core: int = 0


def tracks_of(report: ReportData) -> list[tuple[int, str]]:
    """The tracks with their numbers, from top to bottom."""
    cores = max((len(_work(row)) for row in report.ops), default=1)
    named: list[tuple[int, str]] = [*enumerate(TRACKS, 1)]
    if cores > 1:
        named = [*((_array(core), f"array of core {core}") for core in range(cores)), *named[1:]]
    return [*named, *((_network(report, level), name) for level, name in enumerate(_levels(report)))]


def slices_of(report: ReportData, clock_mhz: float) -> Iterator[Slice]:
    """The slices of the whole step: those of one track in the order of time, none before another of it ends."""
    exchanges: dict[int, list[OpRow]] = {}
    for row in report.ops:
        if ExchangeStages.found_in(row) is not None:
            facts = ExchangeFacts.found_in(row)
            exchanges.setdefault(-1 if facts is None or facts.after is None else facts.after, []).append(row)
    network = _NetworkTracks(report)
    cycles, exchanged = 0, 0.0
    double_buffer = _double_buffer(report)
    for row in (None, *report.ops):
        if row is not None and row.cycles:
            begin, last = cycles, cycles + row.repeat * row.cycles
            for part in _slices(row, double_buffer=double_buffer):
                ends = (begin + part.begin, min(begin + part.begin + part.duration, last))
                first, end = (exchanged + at / (clock_mhz * 1e6) for at in ends)
                yield Slice(part.track, first, end, _name(row), row.kind, _args(row, part.core))
            cycles = last
            network.work = _name(row)
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
                yield Slice(track, begin, end, f"waits for {kind} of {row.name}", WAIT, _exchange_args(row))
        for level, first, last in _stage_times(stages, row.repeat):
            track, at = _network(self.report, level), begin + first
            yield from self._wait(track, begin, f"waits for {self.work}")
            yield from self._wait(track, at, f"waits for {kind} on other levels")
            self.until[track] = min(begin + last, end)
            yield Slice(track, at, self.until[track], f"{row.name} {kind}", COMM, _exchange_args(row))

    def _is_level(self, track: int) -> bool:
        return track >= _network(self.report, 0)

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


def _name(row: OpRow) -> str:
    return f"{row.name or row.op} {row.phase}"


def _levels(report: ReportData) -> list[str]:
    """The levels of the network over which a step exchanges data, outermost first; none where nothing has a time."""
    network = report.hardware.get("network")
    levels = network.get("levels") if isinstance(network, dict) else None
    if not isinstance(levels, list) or all(ExchangeStages.found_in(row) is None for row in report.ops):
        return []
    shown = [level if isinstance(level, dict) else {} for level in levels]
    return [f"network level {n} ({level.get('kind')} of {_size(level)})" for n, level in enumerate(shown, 1)]


def _size(level: Mapping[str, object]) -> str:
    """The devices of a level; those along each dimension of a torus or mesh."""
    sizes = level.get("sizes")
    return " x ".join(map(str, cast("list[int]", sizes))) if isinstance(sizes, list) else str(level.get("size"))


def _array(core: int) -> int:
    """The number of the track of a core's array."""
    return len(TRACKS) + core if core else ARRAY


def _network(report: ReportData, level: int) -> int:
    """The number of the track of a level of the network."""
    return len(TRACKS) + max((len(_work(row)) for row in report.ops), default=1) + level


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


def _double_buffer(report: ReportData) -> bool:
    memory = report.hardware.get("memory")
    return not isinstance(memory, dict) or memory.get("double_buffer") is not False


def _slices(row: OpRow, *, double_buffer: bool) -> Iterator[_Work]:
    """
    The slices of an operation: the resources that work for it, in all its runs.

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
        yield _Work(VECTOR if row.kind == "vector" else _array(core), runs * lead, runs * work, core)
    if loaded:
        yield _Work(READS, 0.0, runs * loaded)
    if stored:
        yield _Work(WRITES, runs * (cycles - stored), runs * stored)


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


def _exchange_args(row: OpRow) -> dict[str, object]:
    """The details of an exchange for a viewer."""
    facts, chunks = ExchangeFacts.found_in(row), ExchangeChunks.found_in(row)
    shown = {
        "phase": row.phase,
        "layer": row.name,
        "op": row.op,
        "of": facts and facts.of,
        "levels": facts and facts.levels,
        "operand_bytes": facts and facts.operand_bytes,
        "sent_bytes": facts and facts.sent_bytes,
        "seconds": row.seconds,
        "chunks": chunks and chunks.chunks,
        "source": row.loc,
    }
    return {name: value for name, value in shown.items() if value is not None}
