"""
Lower bounds of the traffic and the time of an iteration over all plans of the cache.

Plans are those of `intervals`: steps run in their order, each touches its tensors once, and a value is cached or not
between two accesses. At most the capacity is cached between two steps, since a streaming step needs no space of its
own. So the least traffic is an integer program with one variable per interval. Its linear relaxation bounds plans that
cache any share of each tensor (tiles): they cache the same leading part throughout, so that a value's copy has the size
of its largest missing share. Derivations are in docs/roofline.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from npuc.backends.roofline.iteration.intervals import Intervals
from npuc.backends.roofline.iteration.trace import Bools, Ints
from npuc.compiler.analysis.solvers.linear import LinearProgram, Solution, solve

MOST_ACCESSES = 4096
"""Iterations of more accesses have only the bound over tiles."""
MOST_TIMED = 16384
"""Iterations of more accesses have only the bounds of their operations and of their bytes."""
NODES = 2000
SECONDS = 120.0
"""The search of the integer program ends after NODES nodes, which is deterministic, or after so many seconds."""
UNIT = 1 << 18
"""The most bytes that count as 1: the solver's tolerance is then far below a byte."""
PURPOSE = "roofline.bound, or roofline.policy=optimal,"


@dataclass(frozen=True)
class Least:
    """
    The least traffic of plans of whole tensors, none of which moves fewer than `bound` bytes.

    `cached` is the best plan known, by intervals, which moves `moved` bytes. It is optimal if `exact`.
    """

    bound: int
    moved: int
    cached: Bools

    @property
    def exact(self) -> bool:
        """Whether the search has proved the plan optimal."""
        return self.bound == self.moved


def tile_bound(intervals: Intervals, capacity: int) -> int:
    """A lower bound of the bytes that plans of tiles or whole tensors move, by the linear program."""
    unit = _unit(intervals)
    program = LinearProgram()
    _tiles(program, intervals, capacity / unit, unit, cost=1.0)
    found = solve(program, purpose=PURPOSE)
    assert found is not None
    # one byte for the rounding of the sum
    return max(math.ceil(intervals.fixed + found.bound * unit - 1.0), 0)


@dataclass(frozen=True)
class _Tiles:
    """
    Numbers of variables, in units: the cached part of each interval, each value's copy, the occupancy after each step.
    """

    cached: Ints
    copies: Ints
    occupancy: Ints


def _tiles(program: LinearProgram, intervals: Intervals, capacity: float, unit: float, cost: float) -> _Tiles:
    """
    The program of cached shares; the occupancy changes by the intervals that start at a step less those that end there.
    """
    size, steps = intervals.size / unit, intervals.trace.steps
    cached = program.variables(len(size), size, -cost)
    copies = program.variables(len(intervals.value_size), intervals.value_size / unit, cost)
    occupancy = program.variables(steps, capacity)
    depends = np.flatnonzero(intervals.value >= 0)
    needs = program.rows(len(depends), size[depends], np.inf)
    program.put(needs, cached[depends], 1.0)
    program.put(needs, copies[intervals.value[depends]], 1.0)
    change = program.rows(steps, 0.0, 0.0)
    program.put(change, occupancy, 1.0)
    program.put(change[1:], occupancy[:-1], -1.0)
    program.put(change[intervals.start], cached, -1.0)
    program.put(change[intervals.end], cached, 1.0)
    return _Tiles(cached, copies, occupancy)


def time_bound(intervals: Intervals, capacity: int, tflops: float, gb_per_s: float, least: int = 0) -> float:
    """
    A lower bound of an iteration's seconds over all plans, at so many 10^12 operations and 10^9 bytes a second.

    A step lasts as long as its computation or, if longer, as the transfers during it. Its inputs have been loaded by
    its end; prefetched tensors take capacity beside the cached ones. Its outputs are copied to memory after its start.
    `least` is a bound of the bytes moved: that of `least_traffic` for plans of whole tensors.
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
    # prefetched bytes, and bytes still to be copied, after each step
    stock = program.rows(steps, -intervals.loads / unit, -intervals.loads / unit)
    backlog = program.rows(steps, intervals.copies / unit, intervals.copies / unit)
    for rows, level, flow in ((stock, ahead, -1.0), (backlog, behind, 1.0)):
        program.put(rows, level, 1.0)
        program.put(rows[1:], level[:-1], -1.0)
        program.put(rows, loads if level is ahead else copies, flow)
    program.put(stock[intervals.end], tiles.cached, -1.0)
    program.put(backlog[intervals.value_step], tiles.copies, -1.0)
    bus = program.rows(steps, -np.inf, compute * rate)
    for variables, factor in ((loads, 1.0), (copies, 1.0), (stalls, -1.0)):
        program.put(bus, variables, factor)
    fits = program.rows(steps, -np.inf, capacity / unit)
    program.put(fits, ahead, 1.0)
    program.put(fits, tiles.occupancy, 1.0)
    moved = program.rows(1, (least - intervals.fixed) / unit, np.inf)
    for variables, factor in ((tiles.copies, 1.0), (tiles.cached, -1.0)):
        program.put(np.broadcast_to(moved, variables.shape), variables, factor)
    found = solve(program, purpose=PURPOSE)
    assert found is not None
    return math.fsum(compute) + max(found.bound, 0.0) / rate


def least_traffic(intervals: Intervals, capacity: int, known: Bools) -> Least:
    """
    The least traffic of whole tensors in a cache of `capacity` bytes; the search begins with the plan `known`, by
    intervals.

    The search ends when optimality is proved or its limits are met. Raises `UsageError` without HiGHS.
    """
    best, moved = known, intervals.moved(known)
    bound, limit = 0, capacity
    while True:
        found = _whole(intervals, limit, known)
        if limit == capacity and math.isfinite(found.bound):
            bound = math.ceil(intervals.fixed + found.bound * _unit(intervals) - 0.5)
        if found.values is None:
            break
        cached = found.values[: len(intervals.slot)] > 0.5
        over = int(intervals.occupancy(cached).max(initial=0)) - capacity
        if over <= 0:
            if intervals.moved(cached) < moved:
                best, moved = cached, intervals.moved(cached)
            break
        limit -= over  # the solver's tolerance was a few bytes
    return Least(min(bound, moved), moved, best)


def _unit(intervals: Intervals) -> float:
    """Bytes that count as 1 for the solver."""
    return float(min(UNIT, max(int(intervals.size.max(initial=1)), 1)))


def _whole(intervals: Intervals, capacity: int, known: Bools) -> Solution:
    """The solution of the integer program: one binary variable per interval and one per written value, for its copy."""
    count, unit = len(intervals.slot), _unit(intervals)
    program = LinearProgram()
    cached = program.variables(count, 1.0, -intervals.size / unit, whole=True)
    copies = program.variables(len(intervals.value_size), 1.0, intervals.value_size / unit)
    depends = np.flatnonzero(intervals.value >= 0)
    needs = program.rows(len(depends), 1.0, np.inf)
    program.put(needs, cached[depends], 1.0)
    program.put(needs, copies[intervals.value[depends]], 1.0)
    crowded = intervals.occupancy(np.ones(count, dtype=np.bool_)) > capacity
    # where no interval starts, the cached tensors were cached before as well
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
