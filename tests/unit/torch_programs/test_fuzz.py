"""Whatever an exported program says of itself, it is read, or refused by one error with the file's name, soon."""

import time

import pytest

from npuc.compiler.core.errors import NpucError
from npuc.frontends.base import Request
from npuc.frontends.source import text_source
from tests.unit.torch_programs.fuzzing import programs

SLOW = 10.0
"""The seconds of CPU that no file may take."""


def _check(name: str, data: bytes) -> bool:
    """Whether a program is read; an exception that is no error of npuc's fails the test."""
    started, found = time.process_time(), None
    try:
        source = text_source(data, "pt2", "model.pt2")
        source.frontend.read(source, Request(losses=("mse",), max_ops=2000))
    except NpucError as error:
        found = error
    except Exception as error:
        raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
    assert time.process_time() - started < SLOW, name
    if found is not None:
        assert found.exit_code in (1, 2), f"{name}: {found}"
        assert found.exit_code == 2 or "model.pt2" in str(found), f"{name}: {found}"
    return found is None


def test_changed_programs_are_read_or_refused() -> None:
    results = [_check(name, data) for name, data in programs(300, seed=3)]
    assert 10 < sum(results) < 290


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100))
def test_many_changed_programs(seed: int) -> None:
    for name, data in programs(1000, seed=1000 + seed):
        _check(name, data)
