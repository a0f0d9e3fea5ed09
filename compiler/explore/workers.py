"""
Work in several processes: each gets the next request when it is through, and answers return in their order.

    for cost in answers(layers, cost_of, jobs=4): ...

Each process has a pipe of its own, without a thread between, so that an interrupt ends the processes. Each leaves
interrupts to the process that started it, which ends them when it is interrupted or when no more answers are wanted;
if it is gone, they end by themselves. What is sent must be picklable, and so must the function, where processes are
not copies of the one that starts them.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from traceback import format_exc
from typing import Any, Generic, Self, TypeVar

from npuc.compiler.core import interrupts
from npuc.compiler.core.cache import searches
from npuc.compiler.core.errors import UsageError

Request = TypeVar("Request")
Answer = TypeVar("Answer")
AHEAD = 2
"""The requests handed to each process at a time, so that none waits for the reader."""
HELD = 64
"""The most answers for each process that wait for an earlier one."""


@dataclass(frozen=True)
class Worker(Generic[Request, Answer]):
    """A process that answers requests, and our end of its pipe."""

    process: BaseProcess
    pipe: Connection

    @classmethod
    def start(cls, answer: Callable[[Request], Answer]) -> Worker[Request, Answer]:
        """A new process that answers with this function."""
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=_serve, args=(theirs, answer, searches.handed()), daemon=True)
        process.start()
        theirs.close()  # so that reading ends when the process ends
        return cls(process, ours)

    def ask(self, request: Request) -> None:
        """Hand out a request. Errors: a process that has ended."""
        try:
            self.pipe.send(request)
        except OSError:
            raise _ended() from None

    def answer(self) -> Answer:
        """The answer to the oldest request. Raises the exceptions of the function. Errors: a process that has ended."""
        try:
            answer: Answer | Exception = self.pipe.recv()
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


def answers(requests: Iterable[Request], answer: Callable[[Request], Answer], jobs: int) -> Iterator[Answer]:
    """The answers to requests, in order, each as soon as it is known, by `jobs` processes. Raises their exceptions."""
    workers = list[Worker[Request, Answer]]()
    try:
        with interrupts.Held():  # at a fork, Python drops an exception that a signal raises
            workers.extend(Worker[Request, Answer].start(answer) for _ in range(jobs))
        yield from _in_order(iter(requests), workers)
    finally:
        for worker in workers:
            worker.end()


def _in_order(requests: Iterator[Request], workers: Sequence[Worker[Request, Answer]]) -> Iterator[Answer]:
    """The answers of processes to requests, which go to whoever has fewest."""
    asked = {worker.pipe: (worker, deque[int]()) for worker in workers}
    found: dict[int, Answer | Exception] = {}
    given = count = 0
    more = True
    while more or given < count:
        while more and count - given < HELD * len(workers):
            worker, numbers = min(asked.values(), key=lambda one: len(one[1]))
            if len(numbers) >= AHEAD:
                break
            try:
                worker.ask(next(requests))
            except StopIteration:
                more = False
                break
            numbers.append(count)
            count += 1
        busy = [pipe for pipe, (_, numbers) in asked.items() if numbers]
        for pipe in wait(busy) if busy else ():
            assert isinstance(pipe, Connection)
            worker, numbers = asked[pipe]
            number = numbers.popleft()
            try:
                found[number] = worker.answer()
            except Exception as error:  # raised in its turn
                found[number] = error
        while given in found:
            one = found.pop(given)
            given += 1
            if isinstance(one, Exception):
                raise one
            yield one


class Pool(Generic[Request, Answer]):
    """Processes that answer with one function, a context in which they live, for requests that come in several lots."""

    def __init__(self, answer: Callable[[Request], Answer], jobs: int):
        self._answer, self._jobs = answer, jobs
        self._workers = list[Worker[Request, Answer]]()

    def __enter__(self) -> Self:
        with interrupts.Held():
            self._workers.extend(Worker[Request, Answer].start(self._answer) for _ in range(self._jobs))
        return self

    def __exit__(self, *raised: object) -> None:
        for worker in self._workers:
            worker.end()

    def answers(self, requests: Sequence[Request]) -> list[Answer]:
        """The answers to requests, in order; each process gets the next one when it has answered. Raises as they do."""
        return list(self.each(requests))

    def each(self, requests: Sequence[Request]) -> Iterator[Answer]:
        """The same, each as soon as it and all before it are known. The caller takes them all, or leaves the pool."""
        left, found, given = list(enumerate(requests))[::-1], dict[int, Answer](), 0
        busy: dict[Connection, tuple[Worker[Request, Answer], int]] = {}
        for worker in self._workers[: len(left)]:
            self._next(worker, left, busy)
        while busy:
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                worker, number = busy.pop(pipe)
                found[number] = worker.answer()
                if left:
                    self._next(worker, left, busy)
            while given in found:
                yield found.pop(given)
                given += 1

    @staticmethod
    def _next(
        worker: Worker[Request, Answer],
        left: list[tuple[int, Request]],
        busy: dict[Connection, tuple[Worker[Request, Answer], int]],
    ) -> None:
        number, request = left.pop()
        worker.ask(request)
        busy[worker.pipe] = worker, number


def _ended() -> UsageError:
    return UsageError("a process of --jobs was ended from outside", hint="out of memory? try fewer --jobs")


def _serve(pipe: Connection, answer: Callable[[Any], object], store: searches.Handed | None) -> None:
    """Answer requests, in a process of its own, until the parent is gone; what is found goes to the parent's store."""
    interrupts.leave_to_parent()
    searches.take(store)
    parent = multiprocessing.parent_process()
    assert parent is not None
    try:
        while parent.sentinel not in wait([pipe, parent.sentinel]):
            pipe.send(_answer(answer, pipe.recv()))
            searches.settle()
    except (EOFError, OSError):
        return


def _answer(answer: Callable[[Any], object], request: object) -> object:
    """The answer, or any exception on the way to it, also a defect: the parent raises it again."""
    try:
        return answer(request)
    except Exception as error:  # raised again by the parent
        error.add_note(f"in a process of --jobs:\n{format_exc()}")
        return error
