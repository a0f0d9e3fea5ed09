"""What the study of machines by constraints finds, on a network of two contractions."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import CapacityError, SourceError
from npuc.studies.union import study
from npuc.studies.union.settings import FIXED, FREE, MODELS, UNKNOWN, Model
from npuc.studies.union.study import Contraction, UnionResults, UnionRow, claims_of, points, run_study, winner
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
EQUAL = """func.func @twice(%x: tensor<4x8xf32> {train.input = "x"}, %y: tensor<4x6xf32> {train.input = "y"},
                %a: tensor<8x12xf32> {train.param = "a"}, %b: tensor<12x6xf32> {train.param = "b"})
    -> (tensor<f32> {train.loss}) {
  %0 = train.matmul %x, %a {layer = "same"} : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %1 = train.matmul %0, %b {layer = "same"} : (tensor<4x12xf32>, tensor<12x6xf32>) -> tensor<4x6xf32>
  %2 = train.mse %1, %y {layer = "loss"} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<f32>
  func.return %2 : tensor<f32>
}
"""
TRIED = 12
WIDE, LOGITS = Contraction(0, "wide", "forward"), Contraction(1, "logits", "forward")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("union") / "two.dsl"
    path.write_text(NET)
    return str(path)


@pytest.fixture(scope="module")
def results(source: str) -> UnionResults:
    return run_study("inference", source, {}, TRIED)


def test_every_contraction_has_a_row_on_each_machine_by_each_model(results: UnionResults) -> None:
    assert results.contractions == (WIDE, LOGITS)
    asked = {(row.model, row.layer, row.machine) for row in results.rows}
    assert asked == {(model, name, one) for model in MODELS for name in ("wide", "logits") for one in (*FIXED, FREE)}
    assert len(results.rows) == len(asked)


def test_free_is_never_worse_and_times_are_over_it(results: UnionResults) -> None:
    for row in results.rows:
        free = results.row(row.model, row.contraction, FREE)
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
    assert winner((), "exact", WIDE) is None


def test_a_machine_without_a_mapping_is_named(results: UnionResults) -> None:
    """The parity model keeps the window whole that `eyeriss` has to spread by rows."""
    lacking = {(row.machine, row.layer, row.model) for row in results.rows if row.cycles is None}
    assert ("eyeriss", "wide", "parity") in lacking
    assert ("eyeriss", "logits", "parity") not in lacking
    assert all(machine != FREE for machine, _, _ in lacking)
    for machine, layer, model in lacking:
        assert any(f"{machine} has no mapping of" in one and layer in one and model in one for one in results.warnings)


def test_nothing_is_published_or_judged(results: UnionResults) -> None:
    data = json.loads(to_json(results))
    assert {name for one in data["claims"] for name in one} == {"claim", "setting", "ours", "note"}
    assert {one.setting for one in results.claims} == {"model exact", "model parity", "both models"}
    assert {one.note for one in results.claims if "mean" in one.claim} == {UNKNOWN}


def test_contractions_of_one_name_are_all_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where one of them has no mapping, and each is searched by itself in the module lowered once."""
    own = tmp_path / "twice.mlir"
    own.write_text(EQUAL)
    lowered: list[int] = []
    real = study.lowered_module

    def counted(*given: Any) -> Any:
        lowered.append(1)
        return real(*given)

    monkeypatch.setattr(study, "lowered_module", counted)
    found = run_study("inference", str(own), {}, 4)
    assert len(lowered) == points()
    assert found.contractions == (Contraction(0, "same", "forward"), Contraction(1, "same", "forward"))
    assert len(found.rows) == 2 * len(MODELS) * (len(FIXED) + 1)
    assert {(row.number, row.macs) for row in found.rows} == {(0, 4 * 8 * 12), (1, 4 * 12 * 6)}
    alone = study.Search.run

    def fails(search: study.Search, *given: Any) -> Any:
        if len(search.contracts) > 1 or search.contracts[0].nest.macs == 4 * 8 * 12:
            raise CapacityError("no mapping")
        return alone(search, *given)

    lowered.clear()
    monkeypatch.setattr(study.Search, "run", fails)
    single = study._searched("inference", str(own), {}, 4, "exact", FREE)  # pyright: ignore[reportPrivateUsage]
    assert [(row.number, row.layer, row.cycles is None) for row in single] == [(0, "same", True), (1, "same", False)]
    assert single[1] == replace(found.row("exact", single[1].contraction, FREE), over_free=None)
    assert len(lowered) == 1


def rows_of(times: Mapping[Model, Sequence[Mapping[str, float]]]) -> list[UnionRow]:
    """Rows of contractions: by model, for each how many times the cycles of `free` machines take."""
    return [
        UnionRow(model, number, "one name", "forward", machine, 1, 1, over and 10 * over, over, None, None)
        for model, contractions in times.items()
        for number, own in enumerate(contractions)
        for machine in (*FIXED, FREE)
        for over in (1.0 if machine == FREE else own.get(machine),)
    ]


def found_in(times: Mapping[Model, Sequence[Mapping[str, float]]]) -> dict[tuple[str, str], float | None]:
    """The findings by the first word of what they are and of what they are of."""
    return {(one.claim.split()[0], one.setting.split()[-1]): one.ours for one in claims_of(rows_of(times), own=False)}


def test_means_are_geometric_and_of_contractions_with_a_mapping() -> None:
    found = found_in(
        {
            "exact": [{"tpu": 2.0, "nvdla": 3.0}, {"tpu": 9.0, "nvdla": 8.0}, {}],
            "parity": [{}, {}, {}],
        }
    )
    assert found["best", "exact"] == pytest.approx(4.0, rel=1e-12)
    assert found["machines", "exact"] == 2
    assert (found["best", "parity"], found["machines", "parity"], found["contractions", "models"]) == (None, 0, None)


def test_models_agree_on_contractions_that_the_same_machines_can_map() -> None:
    """Of five: they agree, they do not, one lacks a machine in one model, one lacks all in one, one in both."""
    exact = [{"tpu": 2.0, "nvdla": 3.0}, {"tpu": 2.0, "nvdla": 3.0}, {"tpu": 2.0, "nvdla": 3.0}, {"tpu": 2.0}, {}]
    parity = [{"tpu": 4.0, "nvdla": 5.0}, {"tpu": 2.0, "nvdla": 1.0}, {"tpu": 2.0}, {}, {}]
    claims = claims_of(rows_of({"exact": exact, "parity": parity}), own=False)
    assert claims[-1].ours == 50
    assert claims[-1].note == "1 of 2 that the same machines can map by both; 5 in all"


def test_of_equal_machines_the_first_by_name_wins() -> None:
    rows = rows_of({"exact": [{"tpu": 2.0, "nvdla": 2.0, "eyeriss": 3.0}], "parity": [{"nvdla": 2.0}]})
    one = rows[0].contraction
    assert winner(rows, "exact", one) == winner(rows[::-1], "exact", one) == "nvdla"


def test_only_what_is_known_to_converge_says_so() -> None:
    rows = rows_of({"exact": [{"tpu": 2.0}], "parity": [{"tpu": 2.0}]})
    notes = {one.setting: one.note for one in claims_of(rows, own=True) if "mean" in one.claim}
    assert (notes["model exact"], "not converged" in notes["model parity"]) == ("", True)
    assert {one.note for one in claims_of(rows, own=False) if "mean" in one.claim} == {UNKNOWN}


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
