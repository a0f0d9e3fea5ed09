"""Candidates that need no less of anything than another one: those left are those of a comparison of all with all."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from npuc.compiler.analysis.schedule.least_needs import LeastNeeds


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
