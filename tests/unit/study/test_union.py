"""What the study of machines by constraints finds, on a network of two contractions."""

import csv
import io
import json
from pathlib import Path

import pytest

from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import SourceError
from npuc.studies.union.settings import FIXED, FREE, MODELS
from npuc.studies.union.study import UnionResults, points, run_study, winner
from npuc.studies.union.view import to_csv, to_json

NET = """network two(batch = 2) {
  input x: f32[batch, 8, 12, 12]
  labels t: i32[batch]
  wide = conv2d(x, 16, kernel=3, padding=1)
  logits = linear(global_avg_pool(relu(wide)), 10)
  loss cross_entropy(logits, t)
  optimizer sgd(lr=0.1)
}
"""
NO_PRODUCT = """network plain(batch=2) {
  input x: f32[batch, 4]
  input y: f32[batch, 4]
  loss mse(layer_norm(x), y)
}
"""
TRIED = 12


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("union") / "two.dsl"
    path.write_text(NET)
    return str(path)


@pytest.fixture(scope="module")
def results(source: str) -> UnionResults:
    return run_study("inference", source, {}, TRIED)


def test_every_contraction_has_a_row_on_each_machine_by_each_model(results: UnionResults) -> None:
    assert results.contractions == (("wide", "forward"), ("logits", "forward"))
    asked = {(row.model, row.layer, row.machine) for row in results.rows}
    assert asked == {(model, name, one) for model in MODELS for name in ("wide", "logits") for one in (*FIXED, FREE)}
    assert len(results.rows) == len(asked)


def test_free_is_never_worse_and_times_are_over_it(results: UnionResults) -> None:
    for row in results.rows:
        free = results.row(row.model, (row.layer, row.phase), FREE)
        assert free.cycles is not None
        assert free.over_free == 1
        if row.cycles is None:
            assert (row.over_free, row.utilization, row.mapping) == (None, None, None)
        else:
            assert row.cycles >= free.cycles
            assert row.over_free == row.cycles / free.cycles
            assert row.utilization is not None
            assert 0 < row.utilization <= 1 or row.model == "parity"


def test_the_winner_takes_least(results: UnionResults) -> None:
    for model in MODELS:
        for one in results.contractions:
            found = results.winner(model, one)
            assert found in FIXED
            best = results.row(model, one, found).cycles
            assert best is not None
            others = [results.row(model, one, name).cycles for name in FIXED]
            assert best == min(cycles for cycles in others if cycles is not None)
    assert winner((), "exact", ("wide", "forward")) is None


def test_a_machine_without_a_mapping_is_named(results: UnionResults) -> None:
    lacking = {(row.machine, row.layer, row.model) for row in results.rows if row.cycles is None}
    assert all(machine != FREE for machine, _, _ in lacking)
    for machine, layer, model in lacking:
        assert any(f"{machine} has no mapping of" in one and layer in one and model in one for one in results.warnings)


def test_nothing_is_published_as_a_number(results: UnionResults) -> None:
    assert not [one for one in results.claims if isinstance(one.published, float)]
    assert {one.setting for one in results.claims} == {"model exact", "model parity", "both"}


def test_json_and_csv_have_the_same_rows(results: UnionResults) -> None:
    data = json.loads(to_json(results))
    assert (data["schema"], data["study"], data["preset"]) == ("npuc.study/1", "union", "inference")
    table = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert [row["machine"] for row in table] == [row["machine"] for row in data["rows"]]


def test_progress_ends_at_the_points(source: str) -> None:
    done: list[int] = []
    run_study("inference", source, {}, 1, lambda what, count: done.append(count))
    assert sum(done) == points()


def test_a_network_without_contractions_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "plain.dsl"
    own.write_text(NO_PRODUCT)
    with pytest.raises(SourceError, match="no contraction to map"):
        run_study("inference", str(own), {}, 1)


def test_one_network_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["study", "union", "--network", "a", "--network", "b"]) == 2
    assert "takes one network" in capsys.readouterr().err


def test_text_and_figure(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    given = ["--network", source, "--evaluations", "4", "-q", "--plot", "r.svg"]
    assert run_command(["study", "union", *given]) == 0
    out = capsys.readouterr().out
    assert "model parity: MAESTRO's own numbers" in out
    assert "4 mappings tried" in out
    assert "times free" in Path("r.svg").read_text()
