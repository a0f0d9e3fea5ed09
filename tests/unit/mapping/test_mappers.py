"""Search algorithms are found: npuc's own by their files, others by what installed distributions publish."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import npuc.compiler.explore.mapping.mappers
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import UsageError
from npuc.compiler.explore.mapping.mapper import ALGORITHMS
from tests.outside import installed

CODE = '''
"""Searches from outside."""

from npuc.compiler.explore.mapping.candidates import smallest
from npuc.compiler.explore.mapping.mapper import Algorithm, Refusal


class OneMapper:
    def __init__(self, space):
        self.left = [smallest(space)]

    def propose(self, most):
        return self.left.pop() if self.left else None

    def tell(self, costs):
        assert len(costs) == 1


class Smallest(Algorithm):
    """The mapping with the smallest tiles alone."""

    def mapper(self, request):
        return OneMapper(request.space)

    def refusal(self, request):
        return Refusal("is more than one", "--budget 2") if request.budget == 1 else None


class Fails(Algorithm):
    def mapper(self, request):
        raise KeyError("a defect of its own")


class Wrong(Algorithm):
    def mapper(self, request):
        mapper = OneMapper(request.space)
        mapper.propose = lambda most: 3
        return mapper


class Many(Algorithm):
    def mapper(self, request):
        from npuc.compiler.explore.mapping.candidates import join

        mapper = OneMapper(request.space)
        mapper.propose = lambda most: join([smallest(request.space)] * (most + 1))
        return mapper


MAPPER = Smallest()
'''
ENTRY_POINTS = """
[npuc.mappers]
smallest = small_mapper:Smallest
fails = small_mapper:Fails
wrong = small_mapper:Wrong
many = small_mapper:Many
absent = small_mapper:Nobody
none = builtins:dict
random = small_mapper:Smallest
"""
NET = """
network n() {
  input x: f32[8, 6]
  labels y: i32[8]
  loss cross_entropy(linear(x, 4), y)
  optimizer sgd(lr=0.1)
}
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "net.dsl").write_text(NET)
    monkeypatch.chdir(tmp_path)
    with installed(tmp_path, "small_mapper", CODE, ENTRY_POINTS):
        yield


def search(mapper: str, *options: str, budget: int = 7) -> int:
    return run_command(["map", "net.dsl", "--mapper", mapper, "--budget", f"{budget}", "-q", *options])


def test_own_algorithms_have_a_file_each() -> None:
    assert ALGORITHMS.own == ("genetic", "cma-es", "exact", "exhaustive", "random")


@pytest.mark.usefixtures("outside")
def test_one_from_outside_searches(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("smallest", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mapper"] == "smallest"
    assert {one["evaluations"] for one in found["contractions"]} == {1 + _known(capsys)}
    assert run_command(["list", "mappers"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:5]] == ["genetic", "cma-es", "exact", "exhaustive", "random"]
    assert "smallest    The mapping with the smallest tiles alone." in lines
    assert any(line.startswith("absent      cannot be loaded from small_mapper:Nobody") for line in lines)


def _known(capsys: pytest.CaptureFixture[str]) -> int:
    """How many mappings a search begins with: the others of one with a budget of 3."""
    assert run_command(["map", "net.dsl", "--budget", "3", "-q", "--json", "-"]) == 0
    (count,) = {one["evaluations"] for one in json.loads(capsys.readouterr().out)["contractions"]}
    return count - 3


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("fails", 1, "mapper 'fails' failed: KeyError"),
        ("wrong", 1, "mapper 'wrong' proposed int, expected Candidates or None"),
        ("many", 1, "mapper 'many' proposed 8 candidates, expected 1 to 7"),
        ("absent", 2, "mapper 'absent' cannot be loaded from small_mapper:Nobody"),
        ("none", 2, "builtins:dict: 'none' is not a mapper"),
        ("smalest", 2, "did you mean 'smallest'?"),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], name: str, status: int, error: str) -> None:
    assert search(name) == status
    assert error in capsys.readouterr().err


@pytest.mark.usefixtures("outside")
def test_a_space_may_be_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("smallest", budget=1) == 2
    assert "(forward) is more than one" in capsys.readouterr().err


@pytest.mark.usefixtures("outside")
def test_own_algorithms_win() -> None:
    assert type(ALGORITHMS.get("random")).__module__ == "npuc.compiler.explore.mapping.mappers.random"


def test_a_file_is_all_that_one_of_our_own_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "smallest.py").write_text(CODE)
    (tmp_path / "net.dsl").write_text(NET)
    monkeypatch.chdir(tmp_path)
    package = npuc.compiler.explore.mapping.mappers
    with monkeypatch.context() as patched:
        patched.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        assert search("smallest") == 0
    sys.modules.pop(f"{package.__name__}.smallest", None)
    with pytest.raises(UsageError):
        ALGORITHMS.get("smallest")
