"""
Points in several processes: runs of points are handed out in order and come back in order.

The processes read the source themselves, once each. They leave interrupts to the process that started them, which
ends them when it is interrupted, or when nobody wants more points.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from npuc.compiler.errors import UsageError
from npuc.compiler.sweep.points import Points, SweepPoint

CHUNKS_AHEAD = 4
"""Chunks that wait for each process, so that none waits for the reader."""
LARGEST_CHUNK = 1024
"""Of points that are scored together; they come back when all are."""

_points: list[Points] = []
"""In a process of the pool: what scores."""


def score_in_processes(points: Points, indices: range, jobs: int) -> Iterator[SweepPoint]:
    """The points of those numbers, in order, by `jobs` processes. Raises what one of the points raises."""
    others = set(multiprocessing.active_children())
    own = Points(points.source, points.grid, points.backend, points.options)
    pool = ProcessPoolExecutor(jobs, initializer=_begin, initargs=(own,))
    chunks, waiting = _chunks(points, indices, jobs), deque[Future[list[SweepPoint]]]()
    done = False
    try:
        for chunk in chunks:
            waiting.append(pool.submit(_score, chunk))
            if len(waiting) >= jobs * CHUNKS_AHEAD:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
        done = True
    except BrokenProcessPool:
        raise UsageError("a process of --jobs was ended from outside", hint="out of memory? try fewer --jobs") from None
    finally:
        for process in () if done else set(multiprocessing.active_children()) - others:
            process.terminate()
        pool.shutdown(wait=done, cancel_futures=True)


def _chunks(points: Points, indices: range, jobs: int) -> Iterator[range]:
    """Consecutive points: those that are scored together shared among the processes, others one by one."""
    run = points.grid.run
    while indices:
        end = min(indices.stop, (indices.start // run + 1) * run)
        together = points.backend_of(indices.start).level == "train"
        size = min(LARGEST_CHUNK, -(-run // jobs)) if together else 1
        for start in range(indices.start, end, size):
            yield range(start, min(end, start + size))
        indices = range(end, indices.stop)


def _begin(points: Points) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _points[:] = [points]


def _score(chunk: range) -> list[SweepPoint]:
    return list(_points[0].score(chunk))
