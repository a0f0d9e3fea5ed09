"""Streams of instructions against their loops and a simulation of stages, and what the study says of them."""

import csv
import io
import json
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.machine.overlap import stages
from npuc.compiler.cli import run_command
from npuc.compiler.core.errors import SourceError
from npuc.studies.rasa.products import MatrixProduct, products_of, stream_of
from npuc.studies.rasa.settings import BLOCKS, COLS, DESIGNS, NETWORKS, REGISTERS, ROWS, TILE_M, TOLERANCE
from npuc.studies.rasa.study import BOUND, FLOOR, MEAN, RasaResults, cycles_of, is_published, run_study, workloads
from npuc.studies.rasa.view import design_lines, to_csv, to_json
from tests.unit.cycle.test_overlap import simulate

NET = "samples:mlp"
SIZES = st.integers(1, 150)
NO_PRODUCT = """network plain(batch=2) {
  input x: f32[batch, 4]
  input y: f32[batch, 4]
  loss mse(layer_norm(x), y)
}
"""


@pytest.fixture(scope="module")
def results() -> RasaResults:
    return run_study("training", (NET,), {})


def weights_of(product: MatrixProduct, block: tuple[int, int]) -> Iterator[tuple[int, int, int]]:
    """The weights of each instruction, by the loops themselves: batch, columns by blocks, rows by blocks, sums."""
    rows, columns, sums = -(-product.m // TILE_M), -(-product.n // COLS), -(-product.k // ROWS)
    for batch in range(product.batch):
        for left in range(0, columns, block[1]):
            for top in range(0, rows, block[0]):
                for part in range(sums):
                    for column in range(left, min(left + block[1], columns)):
                        for _ in range(top, min(top + block[0], rows)):
                            yield batch, column, part


@given(st.integers(1, 3), SIZES, SIZES, SIZES, st.sampled_from(BLOCKS))
def test_groups_and_cycles_are_those_of_the_loops(batch: int, m: int, n: int, k: int, block: tuple[int, int]) -> None:
    product = MatrixProduct("a", "forward", 1, batch, m, n, k)
    stream = stream_of(product, block)
    known = {one: number for number, one in enumerate(dict.fromkeys(weights_of(product, block)))}
    order = [known[one] for one in weights_of(product, block)]
    sizes = [len([*own]) for _, own in groupby(order)]
    assert (stream.instructions, stream.changes, stream.last) == (len(order), len(sizes), sizes[-1])
    for design in DESIGNS:
        assert stream.cycles(stages(design, ROWS, COLS, TILE_M)) == simulate(design, ROWS, COLS, TILE_M, order)


@given(st.integers(1, 3), st.integers(1, 400), SIZES, SIZES, st.sampled_from(BLOCKS))
def test_no_design_is_below_its_feeds_and_none_is_slower_than_those_before(
    batch: int, m: int, n: int, k: int, block: tuple[int, int]
) -> None:
    product = MatrixProduct("a", "forward", 1, batch, m, n, k)
    cycles = {design: cycles_of(product, design, block) for design in DESIGNS}
    assert min(cycles.values()) >= FLOOR * cycles["base"]
    for order in (("base", "pipe", "wlbp", "db-wls", "dmdb-wls"), ("pipe", "dm-pipe", "dm-wlbp", "dmdb-wls")):
        assert all(cycles[after] <= cycles[before] for before, after in pairwise(order))


def test_blocks_fit_the_registers() -> None:
    assert all(rows * columns + rows + columns <= REGISTERS for rows, columns in BLOCKS)


def test_products_are_those_of_the_network() -> None:
    """All multiply-accumulates of a step, by the sizes of the network: three products a layer, two of the first."""
    products = products_of(NET, inference=False, defines={"batch": 8, "hidden": 32})
    forward = products_of(NET, inference=True, defines={"batch": 8, "hidden": 32})
    assert {one.phase for one in products} == {"forward", "dx", "dw"}
    assert {one.phase for one in forward} == {"forward"}
    own = sum(one.repeat * one.macs for one in forward)
    first = forward[0].macs
    assert sum(one.repeat * one.macs for one in products) == 3 * own - first


def test_rows_add_up_to_reductions(results: RasaResults) -> None:
    base, best = (sum(row.repeat * row.cycles[one] for row in results.rows) for one in ("base", "dmdb-wls"))
    assert results.reduction("mlp", "dmdb-wls") == pytest.approx(100 * (1 - best / base), rel=1e-12)
    assert results.reduction(MEAN, "dmdb-wls") == results.reduction("mlp", "dmdb-wls")
    assert results.reduction("mlp", "base") == 0


def known() -> RasaResults:
    """What the study finds in place of its networks, lowered: products of an own size, for each of the three."""
    product = MatrixProduct("a", "forward", 1, 1, 512, 512, 512)
    with patch("npuc.studies.rasa.study.products_of", return_value=(product,)):
        return run_study("inference", NETWORKS, {})


def published(results: RasaResults) -> dict[str, float]:
    """The published numbers by what they are of."""
    return {one.claim: one.published for one in results.claims if one.published is not None}


def test_the_mean_is_published_of_the_networks_of_the_study_alone(results: RasaResults) -> None:
    assert published(known()) == {"less run time by dmdb-wls, %": 79.2}
    assert published(results) == {}
    assert results.verdict == ""
    assert is_published("inference", NETWORKS[::-1], {})
    assert not is_published("training", NETWORKS, {})
    assert not is_published("inference", NETWORKS, {"batch": 4})
    assert not is_published("inference", NETWORKS[:2], {})
    assert not is_published("inference", (*NETWORKS[:2], NET), {})
    assert not is_published("inference", (*NETWORKS, NET), {})


def test_no_design_can_be_too_fast_and_so_nothing_is_reproduced() -> None:
    found = known()
    (one,) = [one for one in found.claims if one.published is not None]
    assert one.published is not None
    assert one.published < one.ours <= BOUND < one.published + TOLERANCE
    assert one.reproduced is None
    assert "above the published mean" in found.verdict
    assert "no evidence" in found.verdict
    assert "79.2" in next(" ".join(line) for line in design_lines(found) if line[0] == "dmdb-wls")
    judged = {one.claim for one in found.claims if one.reproduced is not None}
    assert judged == {"points that wlbp gains by reuse"}


def test_a_mean_far_below_the_published_one_is_refused() -> None:
    product = MatrixProduct("a", "forward", 1, 1, 1, 1, 1)
    with patch("npuc.studies.rasa.study.products_of", return_value=(product,)):
        found = run_study("inference", NETWORKS, {})
    (one,) = [one for one in found.claims if one.published is not None]
    assert (one.reproduced, one.note) == (False, "not above the published mean, by more than 5 points")


def test_json_and_csv_have_the_same_rows(results: RasaResults) -> None:
    data = json.loads(to_json(results))
    assert (data["schema"], data["study"], data["preset"]) == ("npuc.study/1", "rasa", "training")
    table = list(csv.DictReader(io.StringIO(to_csv(results))))
    assert [row["dmdb_wls_cycles"] for row in table] == [str(row["dmdb_wls_cycles"]) for row in data["rows"]]
    assert {one["block"] for one in data["reductions"]} == {"1x1", "1x2", "2x1", "2x2", "3x1"}


def test_networks_of_the_study_keep_their_batch() -> None:
    assert [one if isinstance(one, str) else (one.name, one.batch) for one in workloads(["dlrm", NET])] == [
        ("dlrm", 128),
        NET,
    ]


def test_a_network_without_products_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "plain.dsl"
    own.write_text(NO_PRODUCT)
    with pytest.raises(SourceError, match="has no product for a matrix engine"):
        products_of(str(own), inference=False, defines={})


def test_text_and_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert run_command(["study", "rasa", "--network", NET, "-q", "--plot", "r.svg"]) == 0
    assert "block, of 8 registers" in capsys.readouterr().out
    assert "% less time" in Path("r.svg").read_text()
