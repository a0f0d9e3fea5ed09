"""Pareto fronts, ranks, distances and hypervolumes, beside their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.explore.pareto.front import Floats, crowding, pareto, ranks
from npuc.compiler.explore.pareto.hypervolume import hypervolume
from npuc.compiler.explore.pareto.space import GridSpace

SIDE = 6
POINTS = st.integers(1, 4).flatmap(
    lambda goals: st.lists(st.tuples(*[st.integers(0, SIDE - 1)] * goals), min_size=1, max_size=14)
)


def beats(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def front_of(points: list[tuple[int, ...]]) -> list[int]:
    """The front by its definition; of equal points the first."""
    return [
        at
        for at, point in enumerate(points)
        if not any(beats(other, point) for other in points) and point not in points[:at]
    ]


@given(POINTS)
def test_the_front_is_what_nothing_beats(points: list[tuple[int, ...]]) -> None:
    assert pareto(np.array(points, float)).tolist() == front_of(points)


@given(POINTS, st.integers(1, 14))
def test_ranks_are_fronts_of_what_is_left(points: list[tuple[int, ...]], most: int) -> None:
    found = ranks(np.array(points, float), most)
    left, rank, ranked = list(range(len(points))), 0, 0
    while left and ranked < most:
        own = [left[at] for at in front_of([points[one] for one in left])]
        assert np.flatnonzero(found == rank).tolist() == own or rank == found.max()
        left, rank, ranked = [one for one in left if one not in own], rank + 1, ranked + len(own)
    assert all(found[one] == rank for one in left)


@given(POINTS)
def test_the_hypervolume_counts_the_cells_that_are_dominated(points: list[tuple[int, ...]]) -> None:
    goals = len(points[0])
    cells = np.array(np.meshgrid(*[range(SIDE)] * goals)).reshape(goals, -1).T
    dominated = sum(any(all(p <= c for p, c in zip(point, cell, strict=True)) for point in points) for cell in cells)
    assert hypervolume(np.array(points, float), np.full(goals, float(SIDE))) == pytest.approx(dominated)


def test_a_point_beyond_the_reference_adds_nothing() -> None:
    points: Floats = np.array([[1.0, 1.0], [5.0, 0.0]])
    assert hypervolume(points, np.array([3.0, 3.0])) == 4.0
    assert hypervolume(points[1:], np.array([3.0, 3.0])) == 0.0


def test_distances_are_those_of_neighbours() -> None:
    found = crowding(np.array([[0.0, 4.0], [1.0, 3.0], [4.0, 0.0]]))
    assert found.tolist() == [np.inf, 2.0, np.inf]


@settings(max_examples=30)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_numbers_and_places_of_a_grid_are_inverse(sizes: list[int]) -> None:
    space = GridSpace(tuple(sizes), (True,) * len(sizes))
    numbers = np.arange(space.count)
    assert space.numbers(space.places(numbers)).tolist() == numbers.tolist()
    assert space.places(numbers)[-1].tolist() == [at % sizes[-1] for at in range(space.count)]
