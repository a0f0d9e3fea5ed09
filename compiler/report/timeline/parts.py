"""Slices of a timeline: tracks, and what single rows of a report have on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import cast

from npuc.compiler.core.frozen import frozen
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


@frozen
class Slice:
    """The work or wait of a resource: track, begin and end in seconds of the step, and the details for a viewer."""

    track: int
    begin: float
    end: float
    name: str
    category: str
    facts: dict[str, object] = field(default_factory=dict[str, object])


@frozen
class PieceOfWork:
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
    return [*named, *((network_track(report, level), name) for level, name in enumerate(_levels(report)))]


def slice_name(row: OpRow) -> str:
    """The name of an operation's slices."""
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


def network_track(report: ReportData, level: int) -> int:
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


def has_double_buffer(report: ReportData) -> bool:
    """Whether the array works on one half of a scratchpad while the other is filled."""
    memory = report.hardware.get("memory")
    return not isinstance(memory, dict) or memory.get("double_buffer") is not False


def work_slices(row: OpRow, *, double_buffer: bool) -> Iterator[PieceOfWork]:
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
        yield PieceOfWork(VECTOR if row.kind == "vector" else _array(core), runs * lead, runs * work, core)
    if loaded:
        yield PieceOfWork(READS, 0.0, runs * loaded)
    if stored:
        yield PieceOfWork(WRITES, runs * (cycles - stored), runs * stored)


def work_args(row: OpRow, core: int) -> dict[str, object]:
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


def exchange_args(row: OpRow) -> dict[str, object]:
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
