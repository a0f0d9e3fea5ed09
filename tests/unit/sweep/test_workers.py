"""Work in several processes: answers in order, whoever is first; exceptions in their place."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import sleep

import pytest

from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore import workers
from npuc.compiler.explore.workers import answers


def _double(number: int) -> int:
    if number == 7:
        raise UsageError("seven")
    return 2 * number


def _after_four(folder: Path, number: int) -> bool:
    """Whether 4 was answered by another process before 0 is; others tell at once."""
    (folder / str(number)).touch()
    for _ in range(6000 if number == 0 else 0):
        if (folder / "4").exists():
            return True
        sleep(0.01)
    return number > 0


def _handed(count: int, told: list[int]) -> Iterator[int]:
    for number in range(count):
        told.append(number)
        yield number


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("count", [0, 1, 6])
def test_answers_come_in_order(count: int, jobs: int) -> None:
    assert list(answers(range(count), _double, jobs)) == [2 * number for number in range(count)]


def test_who_is_through_gets_the_next_request(tmp_path: Path) -> None:
    """While one process works, the other one gets all requests but those behind the first."""
    assert list(answers(range(6), partial(_after_four, tmp_path), jobs=2)) == [True] * 6


def test_an_exception_comes_after_the_answers_before_it() -> None:
    every = answers(range(12), _double, jobs=3)
    assert [next(every) for _ in range(7)] == [2 * number for number in range(7)]
    with pytest.raises(UsageError, match="seven"):
        next(every)


def test_requests_are_taken_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for an earlier answer is limited."""
    monkeypatch.setattr(workers, "HELD", 3)
    told: list[int] = []
    every = answers(_handed(7, told), _double, jobs=2)
    assert next(every) == 0
    assert len(told) <= 6
    assert list(every) == [2, 4, 6, 8, 10, 12]
