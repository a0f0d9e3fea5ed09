"""The search for a front: exact where all points are priced or excluded, the same for a seed, and honest otherwise."""

from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.explore.pareto import openness
from npuc.compiler.explore.pareto.front import Flags, Floats, Ints, pareto
from npuc.compiler.explore.pareto.hypervolume import hypervolume
from npuc.compiler.explore.pareto.priced import Implied, Priced
from npuc.compiler.explore.pareto.search import FrontOutcome, FrontSearch
from npuc.compiler.explore.pareto.space import GridSpace

SPACE = GridSpace((6, 5, 4), (True, False, True))


class Bounds:
    """Bounds that are known: a share of the goals."""

    def __init__(self, goals: Floats, share: float, away: Sequence[int] = ()):
        self.goals, self.share, self.away = goals, share, away

    def of(self, numbers: Ints) -> Floats:
        return self.goals[numbers] * self.share

    def forbidden(self, numbers: Ints) -> Flags:
        return np.isin(numbers, self.away)

    def learn(self, numbers: Sequence[int]) -> bool:
        return False

    def implied(self, priced: Sequence[int], among: Ints) -> Iterator[Implied]:
        yield from ()


def search(goals: Floats, bounds: Bounds | None, budget: int, seed: int = 0, space: GridSpace = SPACE) -> FrontOutcome:
    def price(numbers: Sequence[int]) -> Iterator[Priced]:
        for number in numbers:
            away = bounds is not None and number in bounds.away
            yield Priced(number, tuple(goals[number].tolist()), 1.0 if away else 0.0)

    return FrontSearch(space, goals.shape[1], price, budget, seed, bounds).run()


def goals_of(seed: int, goals: int, levels: int) -> Floats:
    random = np.random.default_rng(seed)
    return random.integers(1, levels, (SPACE.count, goals)).astype(np.float64)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(2, 40), st.floats(0.0, 1.0), st.sets(st.integers(0, 119)))
def test_with_enough_budget_the_front_is_that_of_all_points(
    seed: int, goals: int, levels: int, share: float, away: set[int]
) -> None:
    values = goals_of(seed, goals, levels)
    found = search(values, Bounds(values, share, sorted(away)), SPACE.count)
    kept = np.array(sorted(set(range(SPACE.count)) - away), np.int64)
    assert set(found.front) == set(kept[pareto(values[kept])].tolist())
    assert found.proved
    assert found.left == 0
    assert len(found.priced) + found.excluded + found.forbidden == SPACE.count
    assert found.forbidden == len(away)


@given(st.integers(0, 1000), st.integers(1, 119))
@settings(max_examples=30, deadline=None)
def test_no_more_is_priced_than_the_budget(seed: int, budget: int) -> None:
    values = goals_of(seed, 2, 30)
    found = search(values, None, budget)
    assert len(found.priced) == budget
    assert found.left == SPACE.count - budget
    assert not found.proved
    assert found.gap is None
    own = np.array(list(found.priced))
    assert set(found.front) == set(np.sort(own)[pareto(values[np.sort(own)])].tolist())


def test_a_seed_has_one_answer_and_another_one_others() -> None:
    values = goals_of(3, 2, 1000)
    first, again, other = (list(search(values, None, 60, seed).priced) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_exact_bounds_leave_the_front_alone_to_be_priced() -> None:
    values = goals_of(5, 2, 1000)
    found = search(values, Bounds(values, 1.0), SPACE.count)
    assert found.proved
    assert found.excluded > SPACE.count / 2


def test_the_gap_says_how_much_better_what_is_left_may_be() -> None:
    values = goals_of(7, 2, 1000) + 1
    found = search(values, Bounds(values, 0.5), 6)
    assert found.gap is not None
    assert found.gap > 1
    front = values[list(found.front)]
    left = np.array([one for one in range(SPACE.count) if one not in found.priced])
    better = [max(min(factors) for factors in [(front / values[one]).max(axis=1)]) for one in left]
    assert max(better) <= found.gap


def test_a_bound_above_a_cost_is_told_and_no_bound_used() -> None:
    values = goals_of(11, 2, 50)
    found = search(values, Bounds(values, 1.5), SPACE.count)
    assert found.broken
    assert found.excluded == 0
    assert found.proved
    assert set(found.front) == set(pareto(values).tolist())


def test_of_a_grid_that_is_too_large_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openness, "ENUMERATED", 50)
    values = goals_of(13, 2, 1000)
    found = search(values, Bounds(values, 1.0), 40)
    assert found.left is None
    assert not found.proved
    assert 0 < len(found.priced) <= 40
    assert found.gap is None


def test_an_interrupt_ends_with_the_front_so_far() -> None:
    values = goals_of(17, 2, 1000)

    def price(numbers: Sequence[int]) -> Iterator[Priced]:
        for count, number in enumerate(numbers):
            if count == 5:
                raise KeyboardInterrupt
            yield Priced(number, tuple(values[number].tolist()))

    found = FrontSearch(SPACE, 2, price, 100).run()
    assert isinstance(found.interrupt, KeyboardInterrupt)
    assert len(found.priced) == 5
    assert found.front


def test_points_that_do_not_fit_are_priced_and_on_no_front() -> None:
    found = FrontSearch(SPACE, 2, lambda numbers: [Priced(number, None) for number in numbers], 200).run()
    assert found.proved
    assert found.front == ()


def test_the_search_is_better_than_random_points() -> None:
    space = GridSpace((30, 30, 30), (True,) * 3)
    x, y, z = space.places(np.arange(space.count)) / 29
    shape = 1 + 4 * (y - 0.3) ** 2 + 3 * (z - 0.6) ** 2
    values = np.stack([x + 0.1, shape * (1.2 - np.sqrt(x / shape))], axis=1)
    reference = np.array([3.0, 5.0])
    ours, theirs = list[float](), list[float]()
    for seed in range(5):
        found = search(values, None, 300, seed, space)
        ours.append(hypervolume(values[list(found.front)], reference))
        drawn = np.random.default_rng(seed).choice(space.count, 300, replace=False)
        theirs.append(hypervolume(values[drawn], reference))
    assert min(ours) > max(theirs)
    whole = hypervolume(values, reference)
    assert median(ours) > 0.995 * whole
    assert min(ours) > 0.99 * whole
