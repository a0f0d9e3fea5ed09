"""Plans of recomputation: the integer program equals brute force over all plans; the search is near it."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.memory.recompute import Outcome, RecomputeProblem
from npuc.compiler.analysis.memory.recompute_exact import least_peak, least_work
from npuc.compiler.analysis.memory.recompute_search import cheapest

SEEDS = st.integers(0, 2**32)


def draw(r: Random, most: int) -> RecomputeProblem:
    """A graph of operations that read some of the last values, and a stage for each in the backward pass."""
    slots: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    sizes: list[int] = []
    values: list[int] = []

    def new() -> int:
        sizes.append(r.randint(1, 9))
        return len(sizes) - 1

    count = r.randint(2, most)
    for _ in range(count):
        reads = {r.choice(values[-4:]) for _ in range(r.randint(1, 2))} if values else set[int]()
        makes = tuple(new() for _ in range(r.choice([1, 1, 1, 2])))
        values += makes
        slots.append((tuple(sorted(reads)), makes))
    stages: list[int] = []
    gradient: int | None = None
    for op in reversed(range(count)):
        stages.append(len(slots))
        for _ in range(r.randint(1, 2)):
            reads = {value for value in (*slots[op][0], *slots[op][1]) if r.random() < 0.5}
            reads |= set() if gradient is None else {gradient}
            made = new()
            slots.append((tuple(sorted(reads)), (made,)))
        gradient = len(sizes) - 1
    returned = frozenset(r.sample(values, r.randint(0, 1)))
    may = {op for op in range(count) if r.random() < 0.9 and not returned.intersection(slots[op][1])}
    problem = RecomputeProblem(
        tuple(slots),
        tuple(sizes),
        returned,
        r.randint(0, 5),
        count,
        tuple(stages),
        tuple(r.randint(0, 9) for _ in range(count)),
        tuple(range(count)),
        frozenset(may),
    )
    single = [op for op in may if len(problem.readers[op]) == 1 and problem.readers[op][0] in may]
    bound = frozenset(op for op in single if r.random() < 0.3)
    return replace(problem, bound=bound)


def every_outcome(problem: RecomputeProblem) -> Iterator[Outcome]:
    free = sorted(problem.candidates - problem.bound)
    for chosen in chain.from_iterable(combinations(free, n) for n in range(len(free) + 1)):
        yield problem.outcome(problem.bound | set(chosen))


@settings(max_examples=150)
@given(seed=SEEDS)
def test_the_integer_program_is_optimal(seed: int) -> None:
    r = Random(seed)
    problem = draw(r, 8)
    outcomes = list(every_outcome(problem))
    least = min(outcome.peak_bytes for outcome in outcomes)
    assert problem.outcome(least_peak(problem)).peak_bytes == least
    assert least_work(problem, least - 1) is None
    budgets = sorted({outcome.peak_bytes for outcome in outcomes})
    for budget in r.sample(budgets, min(3, len(budgets))):
        plan = least_work(problem, budget)
        assert plan is not None
        assert problem.bound <= plan <= problem.candidates
        found = problem.outcome(plan)
        assert found.peak_bytes <= budget
        assert found.work == min(outcome.work for outcome in outcomes if outcome.peak_bytes <= budget)


@settings(max_examples=60)
@given(seed=SEEDS)
def test_the_search_stays_within_the_budget_and_never_beats_the_optimum(seed: int) -> None:
    r = Random(seed)
    problem = draw(r, 9)
    peaks = sorted({outcome.peak_bytes for outcome in every_outcome(problem)})
    budget = r.randint(peaks[0] - 1, peaks[-1])
    found = cheapest(problem, budget)
    best = least_work(problem, budget)
    if found.plan is None:
        assert found.least_bytes > budget
        again = cheapest(problem, found.least_bytes)
        assert again.plan is not None
    else:
        assert best is not None
        assert problem.outcome(found.plan).peak_bytes <= budget
        assert problem.outcome(found.plan).work >= problem.outcome(best).work


def test_the_search_is_near_the_optimum() -> None:
    met, missed, extra, least = 0, 0, 0, 0
    for seed in range(60):
        problem = draw(Random(seed), 10)
        peaks = sorted({outcome.peak_bytes for outcome in every_outcome(problem)})
        budget = (peaks[0] + peaks[-1]) // 2
        plan, best = cheapest(problem, budget).plan, least_work(problem, budget)
        if best is None:
            continue
        missed += plan is None
        if plan is not None:
            met += 1
            extra += problem.outcome(plan).work
            least += problem.outcome(best).work
    assert missed <= met // 10
    assert extra <= 1.1 * least
