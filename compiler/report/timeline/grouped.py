"""
A group of layers over time: held operands are loaded, micro-batches follow one another, sums are stored.

A micro-batch is each operation of the group once, one after another, on the resources that it uses. All of a group are
alike: an operation's part of one is its row, without what moves once, over their number. Where a group walks rows it is
a band of rows that is run, and what is shown is the mean of all bands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from npuc.compiler.report.groups import LayerGroup, OnceFacts
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.sections import TransferFacts
from npuc.compiler.report.timeline.parts import READS, WRITES, work_slices


@dataclass(frozen=True)
class GroupSlice:
    """The work of a resource for an operation: its place in the group, the track, begin and end in cycles."""

    place: int
    track: int
    begin: float
    end: float


def load_slices(group: LayerGroup) -> list[GroupSlice]:
    """The loads of held operands, before the first micro-batch."""
    return _in_a_row(group, READS)


def store_slices(group: LayerGroup) -> list[GroupSlice]:
    """The stores of sums, from the end of the last micro-batch on, which is 0 here."""
    return _in_a_row(group, WRITES)


def batch_slices(group: LayerGroup, *, double_buffer: bool) -> list[GroupSlice]:
    """One micro-batch, from its begin on."""
    found: list[GroupSlice] = []
    begin = 0.0
    for place, row in enumerate(group.rows):
        own = _of_one(row, group.runs)
        for part in work_slices(own, double_buffer=double_buffer):
            first = begin + part.begin
            last = min(first + part.duration, begin + (own.cycles or 0))
            found.append(GroupSlice(place, part.track, first, last))
        begin += own.cycles or 0
    return found


def batch_cycles(group: LayerGroup) -> float:
    """The cycles of one micro-batch."""
    return sum(_of_one(row, group.runs).cycles or 0 for row in group.rows)


def _in_a_row(group: LayerGroup, track: int) -> list[GroupSlice]:
    """What moves once in one direction, one operation after another."""
    found: list[GroupSlice] = []
    begin = 0.0
    for place, cycles in _once(group, track):
        found.append(GroupSlice(place, track, begin, begin + cycles))
        begin += cycles
    return found


def _once(group: LayerGroup, track: int) -> Iterator[tuple[int, float]]:
    for place, row in enumerate(group.rows):
        once = OnceFacts.found_in(row)
        if once is not None:
            cycles = once.load_cycles if track == READS else once.once_cycles - once.load_cycles
            if cycles:
                yield place, cycles


def _of_one(row: OpRow, count: int) -> OpRow:
    """The part of an operation's row that is of one of so many micro-batches."""
    once = OnceFacts.found_in(row) or OnceFacts(loaded_once_bytes=0, stored_once_bytes=0, once_cycles=0)
    channel = TransferFacts.found_in(row)
    native = row.native
    if channel is not None:
        native = native | replace(channel, transfer_cycles=channel.transfer_cycles // count).columns()
    return replace(
        row,
        cycles=((row.cycles or 0) - once.once_cycles) / count,
        compute_cycles=None if row.compute_cycles is None else row.compute_cycles / count,
        dram_read_bytes=((row.dram_read_bytes or 0) - once.loaded_once_bytes) // count,
        dram_write_bytes=((row.dram_write_bytes or 0) - once.stored_once_bytes) // count,
        native=native,
    )
