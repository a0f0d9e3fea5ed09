"""Candidates that need no less of anything than another one: those left are those of a comparison of all with all."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from npuc.compiler.analysis.machine.array import Array
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.schedule.candidates import best_candidate
from npuc.compiler.analysis.schedule.exact_cost import exact_cost
from npuc.compiler.analysis.schedule.least_needs import LeastNeeds, lowest
from npuc.compiler.analysis.schedule.machine_space import MOST, space_of
from npuc.dialects.npu.nest import Nest, Schedule
from tests.row_arrays import draw_row_array
from tests.widths import draw_bits


def uncovered(needs: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    """The needs that no others cover, with the first candidate of each."""
    first = {one: number for number, one in reversed(list(enumerate(needs)))}
    return {
        one: number
        for one, number in first.items()
        if not any(other != one and all(a <= b for a, b in zip(other, one, strict=True)) for other in first)
    }


@pytest.mark.parametrize("seed", range(8))
def test_what_is_taken_is_covered_by_none(seed: int) -> None:
    r = np.random.default_rng(seed)
    for _ in range(20):
        kinds, count = int(r.integers(1, 5)), int(r.integers(1, 60))
        drawn = r.integers(0, int(r.integers(2, 12)), (kinds, count))
        rows = [tuple(int(value) for value in column) for column in drawn.T]
        expected = uncovered(rows)
        left = LeastNeeds(drawn.astype(np.float64))
        order = r.permutation(count)
        least = int(r.integers(0, 20))
        within = [sum(row) <= least for row in rows]
        taken: list[int] = []
        for step, number in enumerate(map(int, order)):
            if step == count // 2:
                # What covers a candidate has a smaller sum.
                left.keep(np.array(within))
            if step >= count // 2 and not within[number]:
                continue
            found = left.take(number)
            if found is not None:
                assert {rows[one] for one in found} == {rows[number]}
                taken.append(int(found[0]))
        assert len(taken) == len(set(taken))
        reached = {rows[number] for step, number in enumerate(map(int, order)) if step < count // 2 or within[number]}
        assert set(taken) == {number for one, number in expected.items() if one in reached}


def test_looks_are_as_many_as_the_uncovered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long chain of candidates, each covered by the one before it, takes two comparisons from its far end."""
    needs = np.array([range(2000), range(2000)], dtype=np.float64)
    left = LeastNeeds(needs)
    looks = 0
    lexsort = np.lexsort

    def counted(keys: NDArray[np.float64]) -> NDArray[np.intp]:
        nonlocal looks
        looks += 1
        return lexsort(keys)

    monkeypatch.setattr(np, "lexsort", counted)
    assert [found for number in reversed(range(2000)) if (found := left.take(number)) is not None] == [0]
    assert looks == 2


def test_the_lowest_by_one_key_after_the_other() -> None:
    keys = [np.array(row, dtype=np.float64) for row in ([2, 1, 1, 1, 1], [0, 3, 2, 2, 2], [0, 0, 1, 0, 0])]
    assert list(lowest(keys)) == [3, 4]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rows", [False, True])
def test_the_best_is_that_of_all_uncovered_candidates(
    seed: int, rows: bool, draw: Callable[..., tuple[Nest, Schedule]]
) -> None:
    """What is left out by its bounds, or its exact array cycles, would not have been the best."""
    r = Random(seed)
    for _ in range(4):
        nest, _ = draw(r, big=7)
        widths = draw_bits(r, nest)
        array = draw_row_array(r) if rows else Array(r.randint(1, 5), r.randint(1, 5), r.choice(["os", "ws", "is"]))
        machine = Machine(array, r.choice([60, 400]), Fraction(r.randint(1, 40), 4), 1000.0, 8, r.random() < 0.7)
        found = best_candidate(nest, machine, "time", widths, (), fine=False)
        space = space_of(nest, machine, "time", widths, (), False, False, True)
        every = space.candidates(MOST)
        if not len(every.row):
            assert found is None
            continue
        left = every.compared(np.arange(len(every.row)))
        taken = [equal for number in range(len(every.row)) if (equal := left.take(number)) is not None]
        schedules = [space.schedule(every, int(equal[0])) for equal in taken]
        assert found is not None
        least = min(exact_cost(nest, one, machine, "time", widths) for one in schedules)
        assert (found.score, found.moved) == least, f"{nest}\n{widths}\n{machine}"
