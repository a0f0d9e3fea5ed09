"""
How little an iteration can move, whatever plan the cache follows, and how little time it can take.

The plans are those of `intervals`: the steps run in their order, each touches its tensors once, and between two
accesses a value stays or does not. What stays between two steps is at most the capacity, for a step that streams needs
no room of its own. So the least traffic is an integer program with one variable an interval. With variables between 0
and 1 it is that of plans that keep any share of each tensor, its tiles: they keep the same first part throughout, so
that a value's copy has its largest missing share. Derivations are in docs/roofline.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from npuc.backends.roofline.iteration.intervals import Intervals
from npuc.backends.roofline.iteration.trace import Bools, Ints
from npuc.compiler.analysis.solvers.linear import LinearProgram, Solution, solve

MOST_ACCESSES = 4096
"""Iterations of more accesses are bounded by tiles alone."""
MOST_TIMED = 16384
"""For those of more accesses no time is known but that of the operations and that of the bytes."""
NODES = 2000
SECONDS = 120.0
"""The integer program's search ends after so many nodes, or seconds: the first is met by the same point each time."""
UNIT = 1 << 18
"""Bytes that count as 1, at most: the solver's tolerance is then far less than a byte."""
PURPOSE = "roofline.bound, or roofline.policy=optimal,"


@dataclass(frozen=True)
class Least:
    """
    The least traffic of plans of whole tensors: no plan moves fewer than `bound` bytes.

    `kept` is the best plan known, by intervals, which moves `moved` bytes; `exact`: no plan moves fewer than it.
    """

    bound: int
    moved: int
    kept: Bools

    @property
    def exact(self) -> bool:
        """Whether the search has ended."""
        return self.bound == self.moved


def tile_bound(intervals: Intervals, capacity: int) -> int:
    """Bytes that no plan of tiles or whole tensors goes below, by the linear program."""
    unit = _unit(intervals)
    program = LinearProgram()
    _tiles(program, intervals, capacity / unit, unit, cost=1.0)
    found = solve(program, purpose=PURPOSE)
    assert found is not None
    # a byte for the rounding of the sum
    return max(math.ceil(intervals.fixed + found.bound * unit - 1.0), 0)


@dataclass(frozen=True)
class _Tiles:
    """Numbers of variables, in units: what stays of each interval, of each value's copy, and in all after each step."""

    stays: Ints
    copies: Ints
    resident: Ints


def _tiles(program: LinearProgram, intervals: Intervals, capacity: float, unit: float, cost: float) -> _Tiles:
    """The program of shares that stay; in all, what stayed at the step before, and what starts, less what ends."""
    size, steps = intervals.size / unit, intervals.trace.steps
    stays = program.variables(len(size), size, -cost)
    copies = program.variables(len(intervals.value_size), intervals.value_size / unit, cost)
    resident = program.variables(steps, capacity)
    depends = np.flatnonzero(intervals.value >= 0)
    needs = program.rows(len(depends), size[depends], np.inf)
    program.put(needs, stays[depends], 1.0)
    program.put(needs, copies[intervals.value[depends]], 1.0)
    change = program.rows(steps, 0.0, 0.0)
    program.put(change, resident, 1.0)
    program.put(change[1:], resident[:-1], -1.0)
    program.put(change[intervals.start], stays, -1.0)
    program.put(change[intervals.end], stays, 1.0)
    return _Tiles(stays, copies, resident)


def time_bound(intervals: Intervals, capacity: int, tflops: float, gb_per_s: float, least: int = 0) -> float:
    """
    Seconds that no plan's iteration goes below, on a machine of so many 10^12 operations and 10^9 bytes a second.

    A step lasts as long as it computes and, if that is more, as the bus transfers meanwhile. What a step reads has been
    loaded by its end; what is loaded ahead takes room beside what stays. What a step writes is copied to memory after
    its start. `least` are bytes that are known to move: those of `least_traffic`, for plans of whole tensors.
    """
    steps, unit = intervals.trace.steps, _unit(intervals)
    compute = np.array([step.ops for step in intervals.trace.iteration.steps], dtype=np.float64) / (tflops * 1e12)
    if intervals.trace.slots > MOST_TIMED or not steps:
        return max(math.fsum(compute), least / (gb_per_s * 1e9))
    rate = gb_per_s * 1e9 / unit
    most = (intervals.fixed + int(intervals.value_size.sum())) / unit
    program = LinearProgram()
    tiles = _tiles(program, intervals, capacity / unit, unit, cost=0.0)
    loads, copies = program.variables(steps, most), program.variables(steps, most)
    stalls = program.variables(steps, most, 1.0)
    ahead = program.variables(steps, capacity / unit)
    behind = program.variables(steps, most, np.arange(steps) == steps - 1)
    # what is loaded ahead, and what is still to be copied, after each step
    stock = program.rows(steps, -intervals.loads / unit, -intervals.loads / unit)
    backlog = program.rows(steps, intervals.copies / unit, intervals.copies / unit)
    for rows, level, flow in ((stock, ahead, -1.0), (backlog, behind, 1.0)):
        program.put(rows, level, 1.0)
        program.put(rows[1:], level[:-1], -1.0)
        program.put(rows, loads if level is ahead else copies, flow)
    program.put(stock[intervals.end], tiles.stays, -1.0)
    program.put(backlog[intervals.value_step], tiles.copies, -1.0)
    bus = program.rows(steps, -np.inf, compute * rate)
    for variables, factor in ((loads, 1.0), (copies, 1.0), (stalls, -1.0)):
        program.put(bus, variables, factor)
    room = program.rows(steps, -np.inf, capacity / unit)
    program.put(room, ahead, 1.0)
    program.put(room, tiles.resident, 1.0)
    moved = program.rows(1, (least - intervals.fixed) / unit, np.inf)
    for variables, factor in ((tiles.copies, 1.0), (tiles.stays, -1.0)):
        program.put(np.broadcast_to(moved, variables.shape), variables, factor)
    found = solve(program, purpose=PURPOSE)
    assert found is not None
    return math.fsum(compute) + max(found.bound, 0.0) / rate


def least_traffic(intervals: Intervals, capacity: int, known: Bools) -> Least:
    """
    The least traffic of whole tensors in a cache of so many bytes; `known` is a plan to begin with, by intervals.

    The search ends when it is proved or its limits are met. Raises `UsageError` without HiGHS.
    """
    best, moved = known, intervals.moved(known)
    bound, room = 0, capacity
    while True:
        found = _whole(intervals, room, known)
        if room == capacity and math.isfinite(found.bound):
            bound = math.ceil(intervals.fixed + found.bound * _unit(intervals) - 0.5)
        if found.values is None:
            break
        kept = found.values[: len(intervals.slot)] > 0.5
        over = int(intervals.resident(kept).max(initial=0)) - capacity
        if over <= 0:
            if intervals.moved(kept) < moved:
                best, moved = kept, intervals.moved(kept)
            break
        room -= over  # the solver's tolerance has been a few bytes
    return Least(min(bound, moved), moved, best)


def _unit(intervals: Intervals) -> float:
    """Bytes that count as 1 for the solver."""
    return float(min(UNIT, max(int(intervals.size.max(initial=1)), 1)))


def _whole(intervals: Intervals, capacity: int, known: Bools) -> Solution:
    """The solution of the integer program: a variable an interval, whole, and one a written value, its copy."""
    count, unit = len(intervals.slot), _unit(intervals)
    program = LinearProgram()
    stays = program.variables(count, 1.0, -intervals.size / unit, whole=True)
    copies = program.variables(len(intervals.value_size), 1.0, intervals.value_size / unit)
    depends = np.flatnonzero(intervals.value >= 0)
    needs = program.rows(len(depends), 1.0, np.inf)
    program.put(needs, stays[depends], 1.0)
    program.put(needs, copies[intervals.value[depends]], 1.0)
    crowded = intervals.resident(np.ones(count, dtype=np.bool_)) > capacity
    # where nothing starts, what stays stayed before as well
    crowded &= np.bincount(intervals.start, minlength=len(crowded)) > 0
    for step in np.flatnonzero(crowded).tolist():
        across = np.flatnonzero((intervals.start <= step) & (step < intervals.end))
        (row,) = program.rows(1, -np.inf, capacity / unit)
        program.put(np.full(len(across), row), across, intervals.size[across] / unit)
    copied = np.zeros(len(copies))
    copied[intervals.value[~known & (intervals.value >= 0)]] = 1.0
    start = np.concatenate([known.astype(np.float64), copied])
    found = solve(program, purpose=PURPOSE, nodes=NODES, seconds=SECONDS, start=start)
    assert found is not None
    return found
