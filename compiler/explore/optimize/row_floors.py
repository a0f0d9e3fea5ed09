"""
What the rows of a step take at least on many machines at once: arrays over points, one column a row of the step.

A row's time is at least its cycles on the array and its bytes over the channel, whichever is longer, in whole cycles;
that of a stream is exactly so. Bytes depend on the scratchpad and the number of cores alone, cycles on the sides of the
array, its edge and the number of cores: both are found once for each combination of these. Where there are many sizes
of scratchpads each counts as the next of `SIGNIFICANT_BITS`, as no bound rises with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.explore.optimize.step_rows import StepRows
from npuc.compiler.explore.pareto.front import Floats, Ints

Table: TypeAlias = tuple[Floats, Ints]
"""Values of a fact, and the number of each point's value among them."""
MANY_ROOMS = 256
SIGNIFICANT_BITS = 7
BELOW = 1 - 1e-12
"""Quotients are lowered by this factor before they are rounded up: no rounding puts them above the exact one."""


@dataclass(frozen=True)
class MachineTables:
    """Facts of the machines of some points."""

    spm_kib: Table
    cores: Table
    rows: Table
    cols: Table
    edge: Table
    lanes: Floats
    bytes_per_cycle: Floats
    """Of the channel of all cores."""


@dataclass(frozen=True)
class RowTimes:
    """The cycles of the products and of the streams of points at least, the latter exact."""

    products: Floats
    streams: Floats


@dataclass
class RowFloors:
    """The bounds of one step."""

    rows: StepRows
    _of_rooms: dict[tuple[int, int], tuple[Floats, Floats]] = field(
        default_factory=dict[tuple[int, int], tuple[Floats, Floats]]
    )
    _of_arrays: dict[tuple[Array, int], tuple[Floats, float]] = field(
        default_factory=dict[tuple[Array, int], tuple[Floats, float]]
    )

    def times(self, machines: MachineTables) -> RowTimes:
        """Cycles of points."""
        rooms, room = self._rooms(machines)
        arrays, array = self._arrays(machines)
        rate, units = machines.bytes_per_cycle, machines.lanes * machines.cores[0][machines.cores[1]]
        products, streams = np.zeros(len(rate)), np.zeros(len(rate))
        slower = BELOW / rate
        for number, count in enumerate(self.rows.product_counts):
            moved = np.array([bytes_of[0][number] for bytes_of in rooms])
            cycles = np.array([cycles_of[0][number] for cycles_of in arrays])
            products += count * np.maximum(cycles[array], np.ceil(moved[room] * slower))
        both = np.maximum if self.rows.machine.double_buffer else np.add
        for number, (row, count) in enumerate(zip(self.rows.streams, self.rows.stream_counts, strict=True)):
            moved = np.array([bytes_of[1][number] for bytes_of in rooms])
            streams += count * both(np.ceil(row.ops * BELOW / units), np.ceil(moved[room] * slower))
        return RowTimes(products, streams)

    def moved(self, machines: MachineTables) -> Floats:
        """Bytes between DRAM and SPM at least."""
        rooms, room = self._rooms(machines)
        counts = self.rows.product_counts, self.rows.stream_counts
        totals = [sum(float(n @ own) for n, own in zip(counts, bytes_of, strict=True)) for bytes_of in rooms]
        return np.array(totals)[room]

    def accessed(self, machines: MachineTables) -> Floats:
        """Bytes that pass in or out of SPM at least, on either side of it."""
        rooms, room = self._rooms(machines)
        arrays, array = self._arrays(machines)
        passes = self.rows.stream_counts * np.array([row.passes for row in self.rows.streams], np.float64)
        totals = [float(self.rows.product_counts @ products + passes @ streams) for products, streams in rooms]
        return np.array(totals)[room] + np.array([accesses for _, accesses in arrays])[array]

    def _rooms(self, machines: MachineTables) -> tuple[list[tuple[Floats, Floats]], Ints]:
        """The bytes of products and streams for each combination of scratchpad and cores, and each point's one."""
        kib, cores = machines.spm_kib, machines.cores
        many = len(kib[0]) > MANY_ROOMS
        share = 2 if self.rows.machine.double_buffer else 1
        found, back = _combined([kib, cores])
        return [self._of_room(_room(kib * 1024 / share, many), int(count)) for kib, count in found], back

    def _of_room(self, spm: int, cores: int) -> tuple[Floats, Floats]:
        key = spm, cores
        if key not in self._of_rooms:
            machine = self.rows.on(spm, cores)
            products = [row.least_bytes(machine.bounding_spm) for row in self.rows.products]
            streams = [row.bytes_moved(machine) for row in self.rows.streams]
            self._of_rooms[key] = np.array(products, np.float64), np.array(streams, np.float64)
        return self._of_rooms[key]

    def _arrays(self, machines: MachineTables) -> tuple[list[tuple[Floats, float]], Ints]:
        """The cycles of products and the accesses of each combination of what arrays depend on."""
        found, back = _combined([machines.rows, machines.cols, machines.edge, machines.cores])
        wholes = [[_whole(value) for value in one] for one in found]
        return [self._of_array(rows, cols, edge, cores or 1) for rows, cols, edge, cores in wholes], back

    def _of_array(self, rows: int | None, cols: int | None, edge: int | None, cores: int) -> tuple[Floats, float]:
        array = replace(self.rows.machine.array, rows=rows or 1, cols=cols or 1, edge_elements=edge)
        if (array, cores) not in self._of_arrays:
            cycles = np.array([row.least_cycles(array, cores) for row in self.rows.products], np.float64)
            accesses = np.array([row.least_accesses(array) for row in self.rows.products], np.float64)
            self._of_arrays[array, cores] = cycles, float(self.rows.product_counts @ accesses)
        return self._of_arrays[array, cores]


def _whole(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def _room(size: float, many: bool) -> int:
    """Bytes of SPM that a schedule may use, or the next larger of few significant bits."""
    room = max(1, int(size))
    rest = max(0, room.bit_length() - SIGNIFICANT_BITS) if many else 0
    return -(-room >> rest) << rest


def _combined(tables: Sequence[Table]) -> tuple[list[tuple[float, ...]], Ints]:
    """The distinct combinations of values that points have, and the number of each point's one."""
    codes = np.zeros(len(tables[0][1]), np.int64)
    for values, own in tables:
        codes = codes * len(values) + own
    distinct, back = np.unique(codes, return_inverse=True)
    found: list[tuple[float, ...]] = []
    for code in distinct.tolist():
        parts, left = list[float](), code
        for values, _ in reversed(tables):
            left, place = divmod(left, len(values))
            parts.append(float(values[place]))
        found.append(tuple(reversed(parts)))
    return found, back
