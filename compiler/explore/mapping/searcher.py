"""
The searches of several contractions, one by one or in several processes, each of which leaves its costs in a record.

A search that was interrupted, or that goes on, is replayed: its mapper proposes the same candidates and is told the
costs in the record; only those that were the best so far are evaluated again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.driver.score import version
from npuc.compiler.explore.mapping.best import BATCH, BestMapping, Evaluate, Limits, MappingCosts, search
from npuc.compiler.explore.mapping.candidates import Mapper, ProvingMapper
from npuc.compiler.explore.mapping.mapper import ALGORITHMS, MapRequest
from npuc.compiler.explore.mapping.record import RecordFile, append_costs, damaged, read_costs
from npuc.compiler.explore.mapping.result import Settings
from npuc.compiler.explore.mapping.task import SearchTask
from npuc.compiler.explore.workers import answers

Advance = Callable[[int], None]


@dataclass(frozen=True)
class Outcome:
    """The best mapping of a contraction, and the objective that no mapping is below, as far as that is known."""

    best: BestMapping
    bound: float | None


@dataclass(frozen=True)
class Searcher:
    """The searches of contractions; `record` is the file in which their costs are, `past` those that it has, by key."""

    tasks: tuple[SearchTask, ...]
    settings: Settings
    record: str
    past: Mapping[str, Floats]

    def __call__(self, number: int) -> Outcome:
        """The search of a contraction, which begins with what is in the record. Raises `UsageError`."""
        return self.find(number, lambda count: None)

    def find(self, number: int, advance: Advance, *, replayed: bool = False) -> Outcome:
        """The same; `advance` is told how many candidates were evaluated. `replayed`: only what the record has."""
        task, own, key = self.tasks[number], self.settings, key_of(self.tasks[number], self.settings)
        best = BestMapping(own.objective, Limits(task.capacity.l1, task.capacity.l2))
        for mapping, cost in task.known():
            best.add_known(mapping, cost)
        mapper = ALGORITHMS.get(own.mapper).mapper(request_of(task, own))
        past = self._costs(number)
        replay(mapper, task.costs, best, past)
        done = len(past)

        def note(costs: Floats) -> None:
            nonlocal done
            append_costs(self.record, key, done, costs)
            done += len(costs)
            advance(len(costs))

        if not replayed:
            search(mapper, task.costs, best, own.budget - done, note)
        return Outcome(best, _bound(task, mapper, best))

    @property
    def done(self) -> int:
        """How many candidates the record has."""
        return sum(len(self._costs(number)) for number in range(len(self.tasks)))

    def run(self, jobs: int, advance: Advance) -> tuple[list[Outcome], KeyboardInterrupt | None]:
        """
        All searches, by so many processes. Where they are interrupted, what they have found so far, and the interrupt.
        """
        found: list[Outcome] = []
        try:
            if jobs == 1:
                for number in range(len(self.tasks)):
                    found.append(self.find(number, advance))
            else:
                for outcome in answers(range(len(self.tasks)), self, min(jobs, len(self.tasks))):
                    advance(self.settings.budget - len(self._costs(len(found))))
                    found.append(outcome)
        except KeyboardInterrupt as interrupt:
            so_far = replace(self, past=read_costs(self.record))
            for number in range(len(found), len(self.tasks)):
                found.append(so_far.find(number, lambda count: None, replayed=True))
            return found, interrupt
        return found, None

    def _costs(self, number: int) -> Floats:
        """What the record has of a contraction, as far as the budget goes."""
        return self.past.get(key_of(self.tasks[number], self.settings), np.zeros(0))[: self.settings.budget]


def key_of(task: SearchTask, settings: Settings) -> str:
    """A hash of all that the candidates of a search depend on, and of their costs."""
    space = task.space
    content = (
        version(),
        task.content,
        space.content,
        task.capacity,
        (settings.objective, settings.mapper, settings.seed, ALGORITHMS.get(settings.mapper).version),
    )
    return hashlib.sha256("\n".join(map(repr, content)).encode()).hexdigest()[:32]


def request_of(task: SearchTask, settings: Settings) -> MapRequest:
    """What the mapper of a contraction is made for."""
    return MapRequest(task.space, settings.seed, task.capacity, settings.budget, task.bound(settings.objective))


@contextmanager
def recorded(tasks: tuple[SearchTask, ...], settings: Settings, path: str | None) -> Generator[Searcher]:
    """
    The searches of contractions with their record, in a file that is kept, or without a path in one that is removed.

    Raises `UsageError`.
    """
    if path is None:
        with tempfile.TemporaryDirectory(prefix="npuc-map-") as folder:
            file = os.path.join(folder, "record")
            with open(file, "wb"):
                yield Searcher(tasks, settings, file, {})
        return
    with RecordFile(path, [key_of(task, settings) for task in tasks]) as record:
        yield Searcher(tasks, settings, path, record.costs)


def replay(mapper: Mapper, evaluate: Evaluate, best: BestMapping, costs: Floats) -> None:
    """
    Let a mapper propose candidates whose costs are known, and keep the best of them in `best`.

    Raises `UsageError` where the costs are not those of its candidates.
    """
    start = 0
    while start < len(costs):
        batch = mapper.propose(min(BATCH, len(costs) - start))
        if batch is None or not len(batch):
            raise damaged("it has more candidates than the mapper")
        own = costs[start : start + len(batch)]
        least = np.minimum.accumulate(np.minimum(own, best.key[0]))
        rows = np.flatnonzero((own <= least) & np.isfinite(own))
        names = ("cycles", "energy", "l1", "l2")
        arrays = {name: np.full(len(batch), np.nan) for name in names}
        if len(rows):
            found = evaluate(batch.at(rows))
            fits = np.where(best.limits.fit(found, best.objective), found.of(best.objective), np.inf)
            if (fits != own[rows]).any():
                raise damaged("the cost of a mapping is another")
            for name in names:
                arrays[name][rows] = getattr(found, name)
        best.add(batch, MappingCosts(**arrays))
        mapper.tell(own)
        start += len(batch)


def _bound(task: SearchTask, mapper: Mapper, best: BestMapping) -> float | None:
    """The objective that no mapping is below, neither of the space nor known."""
    least = task.least(best.objective)
    if least is None or best.cost is None:
        return None
    proved = mapper.bound if isinstance(mapper, ProvingMapper) else least
    return min(best.cost.of(best.objective), max(least, proved))
