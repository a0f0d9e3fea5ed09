"""
A plan of recomputation under a budget of memory, by search; for steps that are too large for the integer program.

Plans to begin with: the forward pass is cut in segments of equal numbers of layers, or of equal bytes, or not at all;
what crosses a cut is kept (Chen et al. 2016). Of the rest run again those with the least work for a byte, as few as the
budget asks for. Then operations are kept after all, most work for a byte first, in halves of halves, while the peak
stays within the budget; the best of these plans is changed one operation at a time.

Everything is tried on `Problem.outcome`, exactly. The number of tries falls with the size of the step, so that the
search takes seconds at most; it is the same in each run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from npuc.compiler.analysis.memory.recompute import Plan, RecomputeProblem, in_segments, layer_starts

EFFORT = 3_000_000
"""The operations that all tries together walk over, at most."""
SHARES = 12
"""The shares of a segment's operations that are tried."""
POLISHED = 4
"""The plans that are improved."""
NEAR = 10
"""The changes of a plan that are tried of each kind."""


@dataclass(frozen=True)
class _Try:
    """What a plan costs: bytes above the budget, summed over the operations during which they are; the work."""

    excess: int
    work: int
    peak_bytes: int
    worst: int

    @property
    def rank(self) -> tuple[int, int]:
        """Less is better."""
        return self.excess, self.work


@dataclass
class _Search:
    """One search: what was tried, and how much may be tried still."""

    problem: RecomputeProblem
    budget: int
    left: int = 0
    known: dict[frozenset[int], _Try] = field(default_factory=dict[frozenset[int], _Try])

    def __post_init__(self) -> None:
        self.left = max(60, EFFORT // max(1, len(self.problem.slots)))

    def tried(self, plan: frozenset[int]) -> _Try:
        """What a plan costs."""
        if plan not in self.known:
            self.left -= 1
            work, live = self.problem.course(plan)
            over = [count - self.budget for count in live if count > self.budget]
            worst = max(range(len(live)), key=live.__getitem__)
            self.known[plan] = _Try(sum(over), work, live[worst], worst)
        return self.known[plan]

    def rank(self, plan: frozenset[int]) -> tuple[int, int]:
        """Less is better."""
        return self.tried(plan).rank

    @cached_property
    def price(self) -> list[float]:
        """The work of each forward operation for a byte of what it makes."""
        works = self.problem.works
        return [work / max(1, size) for work, size in zip(works, self.room, strict=True)]

    @cached_property
    def room(self) -> list[int]:
        """The bytes of what each forward operation makes."""
        problem = self.problem
        return [sum(problem.sizes[b] for b in makes) for _, makes in problem.slots[: problem.boundary]]


@dataclass(frozen=True)
class RecomputeResult:
    """
    A plan within a budget, if one was found; else `least_bytes` is a budget for which one is found.
    """

    plan: Plan | None
    least_bytes: int


def cheapest(problem: RecomputeProblem, budget: int) -> RecomputeResult:
    """The plan of least work within a budget that the search finds."""
    found, least, sure = _best_found(problem, budget)
    if found is not None or least >= sure:
        return RecomputeResult(found, sure)
    # The least peak was met by chance, on the way to another budget: is it found again?
    again, _, _ = _best_found(problem, least)
    return RecomputeResult(None, sure if again is None else least)


def _best_found(problem: RecomputeProblem, budget: int) -> tuple[frozenset[int] | None, int, int]:
    """A plan within a budget, the least peak of all that were tried, and of those that are tried for any budget."""
    search = _Search(problem, budget)
    found = [problem.bound]
    sure = search.tried(problem.bound).peak_bytes
    if sure > budget:
        others = sorted(_beginnings(search), key=search.rank)
        sure = min(sure, *(one.peak_bytes for one in search.known.values()))
        found = [_settled(search, plan) for plan in (problem.bound, *others[: POLISHED - 1])]
        found = [_improved(search, min((*found, *others), key=search.rank))]
    best = min(found, key=search.rank)
    least = min(one.peak_bytes for one in search.known.values())
    return None if search.tried(best).excess else best, least, sure


def _beginnings(search: _Search) -> Iterator[frozenset[int]]:
    """Of each division in segments the plan that does best."""
    problem = search.problem
    for cuts in _divisions(problem, max(1, search.left // (4 * SHARES))):
        allowed = in_segments(problem, cuts) if cuts else problem.candidates
        order = sorted(allowed - problem.bound, key=lambda op: (search.price[op], op))
        plans = [problem.bound | frozenset(order[: len(order) * n // SHARES]) for n in range(1, SHARES + 1)]
        yield min(plans, key=search.rank)


def _divisions(problem: RecomputeProblem, most: int) -> Iterator[Sequence[int]]:
    """Up to `most` divisions of the forward pass, by numbers of layers and by bytes; the first is into one segment."""
    yield ()
    starts = layer_starts(problem)
    behind: list[int] = []
    total = 0
    for _, makes in problem.slots[: problem.boundary]:
        total += sum(problem.sizes[b] for b in makes)
        behind.append(total)
    counts = _counts(len(starts), max(1, most // 2))
    seen: set[tuple[int, ...]] = {()}
    for count in counts:
        by_layers = tuple(starts[len(starts) * n // count] for n in range(1, count))
        levels = [total * n // count for n in range(1, count)]
        by_bytes = tuple(dict.fromkeys(_first_at(starts, behind, level) for level in levels))
        for cuts in (by_layers, by_bytes):
            if cuts not in seen:
                seen.add(cuts)
                yield cuts


def _first_at(starts: Sequence[int], behind: Sequence[int], level: int) -> int:
    """The first layer at whose start so many bytes were made."""
    return next((start for start in starts if start and behind[start - 1] >= level), starts[-1])


def _counts(layers: int, most: int) -> list[int]:
    """Numbers of segments, from 2 up to all layers, more of the small ones."""
    found: list[int] = []
    count = 2.0
    step = max(1.05, layers ** (1 / most))
    while count <= layers and len(found) < most:
        found.append(int(count))
        count = max(count + 1, count * step)
    return found


def _settled(search: _Search, plan: frozenset[int]) -> frozenset[int]:
    """A plan with what it lacks, and without what it can do without."""
    return _kept_after_all(search, _repaired(search, _needed(search.problem, plan), frozenset()))


def _improved(search: _Search, plan: frozenset[int]) -> frozenset[int]:
    """A plan, and what becomes of it when one operation after the other is kept and replaced by others."""
    better = True
    while better and search.left > 0:
        better = False
        copies = sorted(_needed(search.problem, plan) - search.problem.bound, key=lambda op: -search.problem.works[op])
        for op in copies[: 3 * NEAR]:
            other = _repaired(search, plan - {op}, frozenset({op}))
            if search.rank(other) < search.rank(plan):
                plan, better = _kept_after_all(search, other), True
                break
    return plan


def _repaired(search: _Search, plan: frozenset[int], barred: frozenset[int]) -> frozenset[int]:
    """A plan and more operations, until it is within the budget or none of those that are near helps."""
    while (now := search.tried(plan)).excess and search.left > 0:
        gains: dict[frozenset[int], float] = {}
        for more in _additions(search, plan, now.worst, barred):
            gain = _gain(now, search.tried(plan | more))
            if gain > 0:
                gains[more] = gain
        if not gains:
            break
        most = max(gains.values())
        best = next(more for more, gain in gains.items() if gain == most)
        # Layers that are alike gain alike: many are added at once, if that gains for all.
        alike = frozenset[int]().union(*(more for more, gain in gains.items() if 2 * gain >= most))
        plan |= alike if 4 * _gain(now, search.tried(plan | alike)) >= most else best
    return plan


def _gain(before: _Try, after: _Try) -> float:
    """The bytes above the budget that are saved for an elementary operation."""
    return (before.excess - after.excess) / max(1, after.work - before.work)


def _additions(search: _Search, plan: frozenset[int], at: int, barred: frozenset[int]) -> Iterator[frozenset[int]]:
    """Operations to add to a plan: of those whose values lie idle at a slot the largest and the cheapest."""
    idle = [op for op in search.problem.idle(plan, at) if op not in barred]
    large = sorted(idle, key=lambda op: (-search.room[op], op))[:NEAR]
    cheap = sorted(idle, key=lambda op: (search.price[op], op))[:NEAR]
    for op in dict.fromkeys((*large, *cheap)):
        alone, more = frozenset({op}), _with_sources(search, op, barred)
        yield alone
        if more != alone:
            yield more


def _with_sources(search: _Search, op: int, barred: frozenset[int]) -> frozenset[int]:
    """
    An operation and those before it whose values the backward pass does not read itself.

    Such a value would have to be kept for nothing but the copy that reads it.
    """
    problem = search.problem
    found = {op}
    todo = [op]
    while todo:
        for source in problem.needs[todo.pop()]:
            direct = problem.readers[source][-1] >= problem.boundary
            if not direct and source not in found and source not in barred:
                found.add(source)
                todo.append(source)
    return frozenset(found)


def _needed(problem: RecomputeProblem, plan: Plan) -> frozenset[int]:
    """The operations of a plan that run again at all, and those that are bound to others."""
    return frozenset(~op for op in problem.sequence(plan) if op < 0) | problem.bound


def _kept_after_all(search: _Search, plan: frozenset[int]) -> frozenset[int]:
    """A plan without the operations that can be kept, most work for a byte first."""
    todo = [sorted(plan - search.problem.bound, key=lambda op: (-search.price[op], op))]
    while todo and search.left > 0:
        part = todo.pop()
        smaller = plan.difference(part)
        if search.rank(smaller) < search.rank(plan):
            plan = smaller
        elif len(part) > 1:
            half = len(part) // 2
            todo += [part[half:], part[:half]]
    return plan
