"""The study of sparse operands: its rows are what compilations say, and it is shown, written and drawn."""

import json
from io import StringIO

import pytest
from rich.console import Console

from npuc.compiler import compile_file
from npuc.compiler.cli import run_command
from npuc.studies.sparsity import view
from npuc.studies.sparsity.settings import PROCRUSTES, SKIPPING, TENSORDASH, cases
from npuc.studies.sparsity.study import SparsityResults, run_study

CHOSEN = [one for one in cases() if "0." not in one.method or "0.1" in one.method]


@pytest.fixture(scope="module")
def study() -> SparsityResults:
    done: list[str] = []
    found = run_study("samples:mlp", {}, "tpu-v4", SKIPPING, lambda name, count: done.append(name), CHOSEN)
    assert len(done) == len(CHOSEN) == 7
    return found


def test_rows_are_those_of_compilations(study: SparsityResults) -> None:
    by_case = {(row.machine, row.method): row for row in study.rows}
    dense = compile_file("samples:mlp", backend="cycle", hardware=PROCRUSTES, opt_level=1)
    pruned = compile_file("samples:mlp", backend="cycle", hardware=PROCRUSTES, opt_level=1, density={"weights": "0.1"})
    row = by_case[PROCRUSTES, "weights 0.1"]
    assert row.seconds == pruned.totals.seconds
    assert row.gain == (dense.totals.seconds or 0) / (pruned.totals.seconds or 1)
    assert by_case[PROCRUSTES, "dense"].carried == 1
    assert 0.1 < row.carried < 1


def test_work_and_bytes_shrink(study: SparsityResults) -> None:
    for row in study.rows:
        assert (row.stored is None) == (row.method == "dense")
        assert row.carried < 1 or row.method == "dense"
        assert row.stored is None or row.stored < 0.6
    half, both = (row.carried for row in study.rows if row.method.startswith("2:4"))
    assert both < half


def test_it_is_shown_and_written(study: SparsityResults) -> None:
    out = StringIO()
    view.print_study(study, Console(file=out, width=120))
    assert "verdict" in out.getvalue()
    assert out.getvalue().count(TENSORDASH) >= 2
    data = json.loads(view.to_json(study))
    assert (data["study"], len(data["rows"])) == ("sparsity", 7)
    assert len(view.to_csv(study).splitlines()) == 8


def test_it_is_drawn(study: SparsityResults) -> None:
    pytest.importorskip("matplotlib")
    from npuc.studies.sparsity.plot import draw

    assert draw(study, "svg").startswith(b"<?xml")


def test_networks_are_compared_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["study", "sparsity", "--network", "samples:mlp", "--network", "samples:lenet"]) == 2
    assert "steps of one network are compared" in capsys.readouterr().err
