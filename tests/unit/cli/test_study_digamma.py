"""`npuc study digamma`: rows, tables, records, wrong usage."""

import json
from pathlib import Path

import pytest

from npuc.studies.digamma import study
from npuc.studies.digamma.settings import PUBLISHED
from npuc.studies.digamma.study import METHODS
from tests.unit.cli.conftest import Npuc
from tests.unit.study.test_digamma import NET, alike


def run(npuc: Npuc, *more: str) -> tuple[int, str, str]:
    Path("two.dsl").write_text(NET)
    outcome = npuc("study", "digamma", "--network", "two.dsl", "--evaluations", "60", *more)
    return outcome.status, outcome.out, outcome.err


def test_its_command(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cmaes")
    status, out, err = run(npuc, "--preset", "inference", "-q", "--json", "-", "--resume", "r.rec")
    assert (status, err) == (0, "")
    data = json.loads(out)
    assert (data["study"], data["preset"]) == ("digamma", "inference")
    assert len(data["designs"]) == 2 * len(METHODS)
    assert {one["budget"] for one in data["designs"]} == set(PUBLISHED)
    for one in data["designs"]:
        assert one["area_mm2"] <= one["area_limit_mm2"]
    assert run(npuc, "--preset", "inference", "-q", "--json", "-", "-j", "2")[1] == out

    def never(point: study.SearchCase) -> None:
        raise AssertionError(point)

    monkeypatch.setattr(study, "best_of", never)
    assert run(npuc, "--preset", "inference", "-q", "--json", "-", "--resume", "r.rec")[1] == out
    outcome = npuc("study", "digamma", "--network", "two.dsl", "--evaluations", "61", "--resume", "r.rec", "-q")
    assert outcome.status == 2
    assert "another network, machine, number of evaluations, or version" in outcome.err
    assert "give --resume a new name; -j and outputs may differ" in outcome.err
    status, out, _ = run(npuc, "--preset", "inference", "-q", "--resume", "r.rec")
    assert "edge (0.2 mm2), 60 designs each" in out
    assert "geometric mean of 1 network, inference" in out
    assert "(published 3)" in out
    assert "\n\n\n" not in out


def test_one_area(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "cmaes_package", lambda: None)
    monkeypatch.setattr(study, "best_of", alike)
    status, out, _ = run(npuc, "--preset", "inference", "-q", "--area-mm2", "0.3")
    assert (status, out.splitlines()[0]) == (0, "Cycles of a step, inference, 0.3 mm2, 60 designs each")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--area-mm2", "0"), "--area-mm2 0: expected more than 0"),
        (("--area-mm2", "859"), "--area-mm2 859: expected at most 858"),
        (("--resume", "-"), "--resume -: a record needs a file"),
        (("--evaluations", "0"), "expected an integer from 1"),
        (("-D", "batch=2"), "-D is an option of the studies"),
    ],
)
def test_errors(npuc: Npuc, options: tuple[str, ...], said: str) -> None:
    status, out, err = run(npuc, *options)
    assert (status, out) == (2, "")
    assert said in err
