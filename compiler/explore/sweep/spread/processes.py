"""Scores points in several processes, in batches. Each process reads the source itself, once."""

from __future__ import annotations

from collections.abc import Iterator

from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.points import Points
from npuc.compiler.explore.workers import answers

LARGEST_BATCH = 1024
"""The most points that are scored together; they return together."""


def score_in_processes(points: Points, indices: range, jobs: int) -> Iterator[SweepPoint]:
    """The points of those numbers, in order, by `jobs` processes. Raises the exception of a point."""
    own = Points(points.source, points.grid, points.backend, points.options)
    for scored in answers(batches(points, indices, jobs), own.score_all, jobs):
        yield from scored


def batches(points: Points, indices: range, jobs: int) -> Iterator[range]:
    """Consecutive points: those that are scored together shared among the processes, others one by one."""
    run = points.grid.run
    while indices:
        end = min(indices.stop, (indices.start // run + 1) * run)
        together = points.choices.backend_of(indices.start).level == "train"
        size = min(LARGEST_BATCH, -(-run // jobs)) if together else 1
        for start in range(indices.start, end, size):
            yield range(start, min(end, start + size))
        indices = range(end, indices.stop)
