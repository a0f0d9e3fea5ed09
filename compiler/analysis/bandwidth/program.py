"""
The linear program behind all searches.

In the inverse u = 1/b of its bandwidths a step is a sum and a maximum of linear terms, which a linear program says
exactly; limits are linear in b. What is left is u b >= 1 for each level: a convex set, which tangents

    u >= 2 / p - b / p^2        at points p

hold from outside. The program with any tangents is never above the best split, which is the certificate; its answer is
a split that meets all limits, whose own time is above. A tangent at each answer closes the gap quadratically (outer
approximation; Duran, Grossmann, "An outer-approximation algorithm", Mathematical Programming 36, 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from npuc.compiler.analysis.bandwidth.limits import LinearLimit
from npuc.compiler.analysis.bandwidth.traffic import Floats, StepTraffic
from npuc.compiler.analysis.solvers.linear import Ints, LinearProgram, Solution, solve

PURPOSE = "the search for bandwidths"
ABOVE = 1.01
"""Variables end so much above what a known split has, or needs."""


@dataclass
class CutProgram:
    """
    The program of a step under limits, with the tangents so far: `points` of each level.

    Bandwidths in it are shares of those of `start`, a split that meets the limits, and times those of `slowest`, which
    no step of interest takes longer than: all numbers are near 1. `room` is the most of each level's bandwidth that the
    limits leave.
    """

    step: StepTraffic
    limits: Sequence[LinearLimit]
    start: Floats
    room: Floats
    slowest: float
    points: list[list[float]] = field(default_factory=list[list[float]])

    def __post_init__(self) -> None:
        self.unit = float(self.start.sum())
        self.used = np.flatnonzero(self.step.sent > 0)
        # a level with less could not send its bytes in that time
        self.least = np.zeros(self.step.levels)
        self.least[self.used] = self.step.table.max(axis=0)[self.used] / self.slowest
        self.points = [self._first(level) for level in range(self.step.levels)]

    def _first(self, level: int) -> list[float]:
        least, most = self.least[level], max(self.room[level], self.start[level])
        return [*np.geomspace(least, max(most, least * 2), 8)] if least > 0 else []

    def cut(self, bandwidths: Floats) -> None:
        """Add tangents at bandwidths."""
        for level in self.used:
            self.points[level].append(max(float(bandwidths[level]), float(self.least[level])))

    def solve(self, prices: Floats | None = None, weight: float = 0.0) -> Solution | None:
        """
        The least time plus `weight` times cost, in shares of `slowest`, by linear programming; the first values are
        bandwidths in shares of `unit`.
        """
        program = LinearProgram()
        cost = np.zeros(self.step.levels) if prices is None else weight * prices * self.unit / self.slowest
        room = np.maximum(self.room, self.start) / self.unit * ABOVE
        bandwidths = program.variables(self.step.levels, room, cost)
        for limit in self.limits:
            row = program.rows(1, limit.low / self.unit, limit.high / self.unit)
            program.put(np.repeat(row, self.step.levels), bandwidths, np.array(limit.factors))
        inverse = self._inverses(program, bandwidths)
        _TimeRows(self, program, inverse).write()
        return solve(program, purpose=PURPOSE)

    def _inverses(self, program: LinearProgram, bandwidths: Ints) -> Ints:
        """The inverse of each used level's bandwidth as a variable, in shares of that which `least` leaves."""
        inverse = np.zeros(self.step.levels, dtype=np.int64)
        inverse[self.used] = program.variables(len(self.used), ABOVE)
        for level in self.used:
            points = np.array(self.points[level]) / self.least[level]
            rows = program.rows(len(points), 2 / points, np.inf)
            program.put(rows, np.repeat(inverse[level : level + 1], len(points)), 1.0)
            scale = self.unit / self.least[level]
            program.put(rows, np.repeat(bandwidths[level : level + 1], len(points)), scale / points**2)
        return inverse


@dataclass
class _TimeRows:
    """The rows that say what a step takes; its time is the one variable that costs."""

    cuts: CutProgram
    program: LinearProgram
    inverse: Ints

    def write(self) -> None:
        step = self.cuts.step
        if step.moments is not None:
            self._moments()
            return
        end = self._variable(cost=1.0)
        fixed = step.work + float(np.array(step.counts) @ step.latencies)
        if not step.pipelined:
            self._after([(end, 1.0)], dict(enumerate(step.sent)), fixed)
            return
        each = self._transfers()
        self._after([(end, 1.0), *((one, -count) for one, count in zip(each, step.counts, strict=True))], {}, step.work)

    def _variable(self, cost: float = 0.0) -> int:
        return int(self.program.variables(1, ABOVE, cost)[0])

    def _transfers(self) -> list[int]:
        """The time of each transfer as a variable."""
        step, found = self.cuts.step, list[int]()
        for sent, latency in zip(step.table, step.latencies, strict=True):
            one = self._variable()
            found.append(one)
            self._after([(one, 1.0)], {}, float(latency))
            for level in np.flatnonzero(sent):
                self._after([(one, 1.0)], {int(level): float(sent[level])}, float(latency))
        return found

    def _after(self, entries: Sequence[tuple[int, float]], sent: dict[int, float], seconds: float) -> None:
        """A row: times by their factors are at least some bytes and seconds."""
        cuts = self.cuts
        row = self.program.rows(1, seconds / cuts.slowest, np.inf)
        pairs = list(entries)
        for level, size in sent.items():
            if size > 0:
                pairs.append((int(self.inverse[level]), -size / cuts.least[level] / cuts.slowest))
        self.program.put(
            np.repeat(row, len(pairs)),
            np.array([variable for variable, _ in pairs], dtype=np.int64),
            np.array([factor for _, factor in pairs]),
        )

    def _moments(self) -> None:
        """When devices and network have done each moment; None as a variable is the beginning of the step."""
        step = self.cuts.step
        assert step.moments is not None
        each = self._transfers() if step.pipelined else []
        work: tuple[int | None, float] = (None, 0.0)
        network: tuple[int | None, float] = (None, 0.0)
        done = True
        for one in step.moments:
            if one.transfer is None:
                if one.waits and not done:
                    work, done = self._joined(work, network), True
                work = work[0], work[1] + one.work
                continue
            end = self._variable()
            for before, seconds in dict.fromkeys((work, network)):
                entries = [(end, 1.0)] + ([] if before is None else [(before, -1.0)])
                if step.pipelined:
                    self._after([*entries, (each[one.transfer], -1.0)], {}, seconds)
                else:
                    sent = dict(enumerate(step.transfers[one.transfer].sent))
                    self._after(entries, sent, seconds + float(step.latencies[one.transfer]))
            network = end, 0.0
            work, done = (network, True) if one.waits else (work, False)
        self._joined(work, network, cost=1.0)

    def _joined(
        self, work: tuple[int | None, float], network: tuple[int | None, float], cost: float = 0.0
    ) -> tuple[int, float]:
        """When both have ended."""
        both = self._variable(cost)
        for before, seconds in dict.fromkeys((work, network)):
            self._after([(both, 1.0)] + ([] if before is None else [(before, -1.0)]), {}, seconds)
        return both, 0.0
