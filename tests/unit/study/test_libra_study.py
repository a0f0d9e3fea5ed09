"""The study of bandwidth over levels: the reference's splits, other totals, the closed form, programs of our own."""

import csv
import io
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from npuc.compiler.cli import run_command
from npuc.studies.libra.settings import COMMUNICATORS, NETWORKS, PRESETS
from npuc.studies.libra.study import LibraResults, plan_points, run_study
from npuc.studies.libra.view import to_csv, to_json
from npuc.studies.libra.workloads import sent_by, workload_step

REFERENCE = json.loads((Path(__file__).parents[2] / "oracle/data/libra.json").read_text())["rows"]


@pytest.fixture(scope="module")
def study() -> LibraResults:
    return run_study("workloads", ())


@pytest.mark.oracle
@pytest.mark.parametrize("number", range(len(REFERENCE)))
def test_rows_are_those_of_the_reference(study: LibraResults, number: int) -> None:
    wanted, row = REFERENCE[number], json.loads(to_json(study))["rows"]
    (found,) = [
        one
        for one in row
        if all(one[key] == wanted.get(key) for key in ("network", "workload", "total_gb_per_s", "constraints"))
    ]
    for key in ("compute_ms", "equal_split_ms", "optimum_ms"):
        if key in wanted:
            assert found[key] == pytest.approx(wanted[key], rel=1e-3)
    # the reference has two digits behind the point
    assert found["optimum_gb_per_s"] == pytest.approx(wanted["optimum_gb_per_s"], rel=1e-3, abs=0.005)
    assert found["distinct_collectives"] == wanted.get("distinct_collectives", 3)
    assert found["gap"] < 1e-7


def test_there_is_a_row_for_each_of_the_reference(study: LibraResults) -> None:
    assert len(study.rows) == len(REFERENCE)
    assert study.programs == ()
    rows = list(csv.DictReader(io.StringIO(to_csv(study))))
    assert [row["workload"] for row in rows] == [row.workload for row in study.rows]
    assert rows[0]["optimum_gb_per_s"].count("x") == 3


@pytest.mark.parametrize("total", [1.0, 200.0, 3000.0])
def test_other_totals(study: LibraResults, total: float) -> None:
    for usual, row in zip(study.rows, run_study("workloads", (), total).rows, strict=True):
        assert sum(row.optimum_gb_per_s) == pytest.approx(total)
        assert sum(row.time_cost_gb_per_s) == pytest.approx(total)
        assert max(row.gap, row.time_cost_gap) < 1e-7
        if row.constraints is None:
            assert row.equal_split_ms is not None
            assert row.optimum_ms <= row.equal_split_ms
            assert (row.time_cost_gain_per_cost or 0) >= (row.optimum_gain_per_cost or np.inf) * (1 - 1e-9)
        if row.distinct_collectives == 1:
            step = workload_step(row.network, row.workload)
            assert row.method == "closed form"
            shares = step.sent / step.sent.sum()
            assert row.optimum_gb_per_s == pytest.approx(total * shares)
            assert row.optimum_ms == pytest.approx(row.compute_ms + step.sent.sum() / total * 1e-6)
        # bandwidth that is twice as large halves what collectives take, and constraints scale with the total
        taken, usually = row.optimum_ms - row.compute_ms, usual.optimum_ms - usual.compute_ms
        assert taken * total == pytest.approx(usually * usual.total_gb_per_s, rel=1e-6)


def test_bytes_of_a_collective_go_inside_out() -> None:
    """An all-reduce of 64 bytes over 4 x 2 devices; the level between them is not crossed."""
    assert sent_by("all_reduce", 64, (4, 1, 2)).sent == (2 * 48, 0, 2 * 8)
    assert sent_by("all_gather", 8, (4, 1, 2)).sent == (16 * 3, 0, 8)


@pytest.mark.parametrize("network", NETWORKS)
def test_communicators_are_of_the_network(network: str) -> None:
    for groups in COMMUNICATORS[network].values():
        for group in groups:
            assert all(level.size % count == 0 for level, count in zip(NETWORKS[network], group, strict=True))
    assert np.prod([level.size for level in NETWORKS[network]]) == 4096


@pytest.mark.parametrize(("preset", "rows"), [("both", 10), ("workloads", 9), ("programs", 1)])
def test_presets(preset: str, rows: int) -> None:
    assert preset in PRESETS
    assert len(plan_points(preset, ["samples:mlp"])) == rows


def test_a_program_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["study", "libra", "--preset", "programs", "--network", "samples:mlp", "--json", "-", "-q"]
    assert run_command(given) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["programs"]
    assert (found["rows"], row["workload"], row["total_gb_per_s"]) == ([], "mlp", 500.0)
    assert row["optimum_ms"] <= row["equal_split_ms"]
    assert run_command([*given, "--total-gb-per-s", "50"]) == 0
    less = json.loads(capsys.readouterr().out)["programs"][0]
    assert less["optimum_ms"] - less["compute_ms"] == pytest.approx(10 * (row["optimum_ms"] - row["compute_ms"]))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--total-gb-per-s", "0"], "--total-gb-per-s 0: expected more than 0"),
        (["--total-gb-per-s", "nan"], "nan"),
        (["--preset", "workloads", "--network", "samples:mlp"], "--network names programs"),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], options: list[str], error: str) -> None:
    assert run_command(["study", "libra", *options]) == 2
    assert error in capsys.readouterr().err


def test_the_picture_shows_each_row() -> None:
    pytest.importorskip("matplotlib")
    from npuc.studies.libra.plot import budget_curve, draw

    some = run_study("programs", ["samples:mlp"])
    assert draw(some, "svg").startswith(b"<?xml")
    curve = budget_curve("3d", workload_step("3d", "resnet50"), 1e5, 1e7)
    assert all(later < before for (_, before), (_, later) in pairwise(curve))
