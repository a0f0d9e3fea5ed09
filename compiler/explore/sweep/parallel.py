"""
Scores points in several processes: batches of points are handed out in turn, and results return in order.

Each process has a pipe of its own, without a thread between, so that an interrupt ends the processes. Each reads the
source itself, once, and leaves interrupts to the process that started it, which ends them when it is interrupted or
when no more points are wanted; if it is gone, they end by themselves.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from traceback import format_exc

from npuc.compiler.core import interrupts
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.sweep.point import SweepPoint
from npuc.compiler.explore.sweep.points import Points

CHUNKS_AHEAD = 4
"""The chunks queued for each process, so that none waits for the reader."""
LARGEST_CHUNK = 1024
"""The most points that are scored together; they return together."""


@dataclass(frozen=True)
class Worker:
    """A process that scores, and our end of its pipe."""

    process: BaseProcess
    pipe: Connection

    @staticmethod
    def start(points: Points) -> Worker:
        """A new process that scores chunks of these points."""
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=_serve, args=(theirs, points), daemon=True)
        process.start()
        theirs.close()  # so that reading ends when the process ends
        return Worker(process, ours)

    def ask(self, chunk: range) -> None:
        """Hand out a chunk. Errors: a process that has ended."""
        try:
            self.pipe.send(chunk)
        except OSError:
            raise _ended() from None

    def answer(self) -> list[SweepPoint]:
        """The points of the oldest chunk. Raises the exceptions of scoring. Errors: a process that has ended."""
        try:
            answer: list[SweepPoint] | Exception = self.pipe.recv()
        except (EOFError, OSError):
            raise _ended() from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self) -> None:
        """End the process at once."""
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def score_in_processes(points: Points, indices: range, jobs: int) -> Iterator[SweepPoint]:
    """The points of those numbers, in order, by `jobs` processes. Raises the exception of a point."""
    own = Points(points.source, points.grid, points.backend, points.options)
    workers, asked = list[Worker](), deque[Worker]()
    try:
        with interrupts.Held():  # at a fork, Python drops an exception that a signal raises
            workers.extend(Worker.start(own) for _ in range(jobs))
        for number, chunk in enumerate(_chunks(points, indices, jobs)):
            worker = workers[number % jobs]
            worker.ask(chunk)
            asked.append(worker)
            if len(asked) >= jobs * CHUNKS_AHEAD:
                yield from asked.popleft().answer()
        while asked:
            yield from asked.popleft().answer()
    finally:
        for worker in workers:
            worker.end()


def _ended() -> UsageError:
    return UsageError("a process of --jobs was ended from outside", hint="out of memory? try fewer --jobs")


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


def _serve(pipe: Connection, points: Points) -> None:
    """Answer chunks, in a process of its own, until the parent is gone."""
    interrupts.leave_to_parent()
    parent = multiprocessing.parent_process()
    assert parent is not None
    try:
        while pipe in wait([pipe, parent.sentinel]):
            pipe.send(_answer(points, pipe.recv()))
    except (EOFError, OSError):
        return


def _answer(points: Points, chunk: range) -> list[SweepPoint] | Exception:
    """The points of a chunk, or any exception of scoring, also a defect: the parent raises it again."""
    try:
        return list(points.score(chunk))
    except Exception as error:  # raised again by the parent
        error.add_note(f"in a process of --jobs:\n{format_exc()}")
        return error
