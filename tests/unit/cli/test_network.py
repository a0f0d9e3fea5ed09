"""`npuc network`: its splits are what compiling says, limits, shapes, outputs and wrong usage."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npuc.compiler import compile_file
from npuc.hardware import load_hardware
from tests.unit.cli.conftest import Npuc
from tests.unit.cli.option_files import CLUSTER, NETWORK

MACHINE = ("--hw", "cluster.toml", "--devices", "64")
TOTAL = ("--total-gb-per-s", "30")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cluster.toml").write_text(CLUSTER)
    Path("big.dsl").write_text(
        NETWORK.replace("=4", "=128").replace("=8", "=128").replace("8]", "128]").replace(" 4)", " 128)")
    )
    Path("free.toml").write_text(
        "\n".join(line.split(", link")[0] + (" }," if ", link" in line else "") for line in CLUSTER.splitlines())
    )


def found(npuc: Npuc, *given: str) -> dict[str, Any]:
    outcome = npuc("network", "big.dsl", *MACHINE, *given, "-q", "--json", "-")
    assert outcome.status == 0, outcome.err
    return json.loads(outcome.out)


def levels_of(machine: str) -> list[dict[str, Any]]:
    rows: Any = load_hardware(machine).values["network.levels"]
    return rows


def split(data: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [one for one in data["splits"] if one["split"] == name]
    return one


@pytest.mark.parametrize("parallel", ["dp", "hypar"])
def test_times_are_those_of_the_report(npuc: Npuc, parallel: str) -> None:
    data = {
        overlap: found(npuc, *TOTAL, "--parallel", parallel, "--overlap", overlap) for overlap in ("none", "gradients")
    }
    rows = load_hardware("cluster.toml").values["network.levels"]
    assert isinstance(rows, list)
    for name in ("given", "equal", "best"):
        rates = split(data["none"], name)["gb_per_s"]
        levels = [{**row, "gb_per_s": rate} for row, rate in zip(rows, rates, strict=True)]
        report = compile_file(
            "big.dsl", hardware="cluster.toml", overrides={"network.levels": levels}, devices=64, parallel=parallel
        )
        assert split(data["none"], name)["seconds"] == pytest.approx(report.totals.seconds, rel=1e-9)
        if name != "best":
            assert split(data["gradients"], name)["seconds"] == pytest.approx(
                report.native["overlapped_seconds"], rel=1e-9
            )


@pytest.mark.parametrize("given", [(), ("--stages", "pipelined"), ("--overlap", "gradients"), ("--parallel", "mp")])
@pytest.mark.parametrize("goal", ["time", "time-cost"])
def test_the_best_split_uses_the_total_and_is_never_worse_than_the_equal_one(
    npuc: Npuc, given: tuple[str, ...], goal: str
) -> None:
    data = found(npuc, *TOTAL, *given, "--objective", goal)
    best, equal = split(data, "best"), split(data, "equal")
    power = 0 if goal == "time" else 1
    assert best["meets"] is True
    assert np.sum(best["gb_per_s"]) == pytest.approx(30)
    assert best["seconds"] * best["usd"] ** power <= equal["seconds"] * equal["usd"] ** power
    assert 0 <= data["gap"] < 1e-6


def test_the_floor_is_what_very_fast_levels_leave(npuc: Npuc) -> None:
    for overlap in ("none", "gradients"):
        data = found(npuc, *TOTAL, "--overlap", overlap, "--parallel", "dp")
        fast = found(npuc, "--total-gb-per-s", "1e12", "--overlap", overlap, "--parallel", "dp")
        assert data["floor_seconds"] == pytest.approx(split(fast, "best")["seconds"], rel=1e-6)
        assert data["work_seconds"] < data["floor_seconds"] < split(data, "best")["seconds"]


def test_the_verdict_names_what_runs(npuc: Npuc) -> None:
    given = ("network", "big.dsl", *MACHINE, *TOTAL, "--parallel", "mp", "-q")
    assert "One training step takes" in npuc(*given).out
    assert "One forward pass takes" in npuc(*given, "--inference").out


def test_a_budget_and_a_constraint_hold(npuc: Npuc) -> None:
    data = found(npuc, "--budget-usd", "20000", "--constraint", "b1 >= 2 b3", "--constraint", "b2<=3")
    best = split(data, "best")
    outer, middle, inner = best["gb_per_s"]
    assert best["usd"] == pytest.approx(20000)
    assert outer >= 2 * inner * (1 - 1e-6)
    assert middle <= 3 * (1 + 1e-6)
    prices = [26, 4, 2]
    assert best["usd"] == pytest.approx(64 * np.dot(prices, best["gb_per_s"]))
    assert [one["usd_per_gb_per_s"] for one in data["levels"]] == prices


def test_shapes_have_as_many_devices_and_cost_as_much(npuc: Npuc) -> None:
    data = found(npuc, "--budget-usd", "20000", "--shapes")
    shapes: list[dict[str, Any]] = data["shapes"]
    assert {len(one["sizes"]) for one in shapes} == {1, 2, 3}
    for one in shapes:
        assert np.prod(one["sizes"]) == 64
        assert one["usd"] == pytest.approx(20000)
        assert all(size <= most for size, most in zip(one["sizes"][1:], (4, 2), strict=False))
    times = [one["seconds"] for one in shapes]
    assert times == sorted(times)
    own = [one for one in shapes if one["sizes"] == [8, 4, 2]]
    assert own[0]["seconds"] == pytest.approx(split(data, "best")["seconds"])


def test_shapes_are_ordered_by_the_objective(npuc: Npuc) -> None:
    shapes = found(npuc, *TOTAL, "--objective", "time-cost", "--shapes")["shapes"]
    products = [one["seconds"] * one["usd"] for one in shapes]
    assert products == sorted(products)
    times = [one["seconds"] for one in shapes]
    assert times != sorted(times)


def test_shapes_that_do_not_hold_the_mesh_are_counted(npuc: Npuc) -> None:
    """A mesh of 8 x 4 x 2 fits on 64, 32 x 2 and 8 x 4 x 2, and neither on 16 x 4 nor on 16 x 2 x 2."""
    given = ("network", "big.dsl", "--hw", "cluster.toml", "--mesh", "8x4x2", *TOTAL, "--shapes", "-q")
    data = json.loads(npuc(*given, "--json", "-").out)
    assert sorted(one["sizes"] for one in data["shapes"]) == [[8, 4, 2], [32, 2], [64]]
    assert data["shapes_without_room"] == 2
    assert "2 more do not hold the mesh 8 x 4 x 2 (one of smaller levels may fit)" in " ".join(npuc(*given).out.split())


def test_the_text_says_what_is_not_within_limits(npuc: Npuc) -> None:
    text = npuc("network", "big.dsl", *MACHINE, *TOTAL, "--constraint", "b1 >= 20", "-q").out
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert "not within" in rows["given"]
    assert "not within" in rows["equal"]
    assert "not within" not in rows["best"]
    assert rows["limits"].endswith("b1 >= 20")
    assert "as the equal split, for" in text
    assert "The equal split is not within what was asked for." in " ".join(text.split())


def test_text_fits_and_csv_has_a_row_a_split(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = npuc("network", "big.dsl", *MACHINE, *TOTAL, "--shapes", "-q").out
    assert max(map(len, text.splitlines())) <= 80
    assert "verdict   One training step takes" in text
    rows = list(csv.DictReader(io.StringIO(npuc("network", "big.dsl", *MACHINE, *TOTAL, "-q", "--csv", "-").out)))
    assert [row["split"] for row in rows] == ["given", "equal", "best"]
    assert rows[0]["gb_per_s"] == "2.0x8.0x20.0"


def test_a_machine_without_prices_has_no_usd(npuc: Npuc) -> None:
    given = ("network", "big.dsl", "--hw", "free.toml", "--devices", "64")
    data = json.loads(npuc(*given, *TOTAL, "-q", "--json", "-").out)
    assert {one["usd"] for one in data["splits"]} == {None}
    outcome = npuc(*given, "--budget-usd", "5", "-q")
    assert outcome.status == 2
    assert "level 1 of 3 has no price" in outcome.err
    pytest.importorskip("matplotlib")
    assert npuc(*given, *TOTAL, "-q", "--plot", "a.svg").status == 0
    assert npuc("network", "big.dsl", *MACHINE, *TOTAL, "-q", "--shapes", "--plot", "b.svg").status == 0


@pytest.mark.parametrize(
    ("given", "status", "error"),
    [
        ((), 2, "there is no bandwidth to split"),
        (("--total-gb-per-s", "0"), 2, "expected more than 0"),
        (("--budget-usd", "-1"), 2, "expected more than 0"),
        ((*TOTAL, "--constraint", "b9 > 1"), 2, "the levels are b1 to b3"),
        ((*TOTAL, "--constraint", "b1 >= 40"), 3, "--total-gb-per-s 30; --constraint 'b1 >= 40'"),
        ((*TOTAL, "--budget-usd", "1"), 3, "--total-gb-per-s 30; --budget-usd 1"),
        ((*TOTAL, "--shapes", "--constraint", "b1 >= 1"), 2, "--shapes"),
        ((*TOTAL, "--stages", "parallel"), 2, "--stages"),
        (("--budget-usd", "10", "--objective", "time-cost"), 2, "smallest network"),
        ((*TOTAL, "--constraint", "5 >= 3"), 2, "'5 >= 3' is about no level"),
        ((*TOTAL, "--json", "-", "-o", "-"), 2, "only one of --json, --csv and -o can go to standard output"),
        ((*TOTAL, "-b", "cycle", "-b", "roofline"), 2, "one cost model"),
    ],
)
def test_errors(npuc: Npuc, given: tuple[str, ...], status: int, error: str) -> None:
    outcome = npuc("network", "big.dsl", *MACHINE, *given)
    assert outcome.status == status, outcome.err
    assert error in outcome.err


def test_the_machine_with_the_best_split_takes_what_the_split_says(npuc: Npuc) -> None:
    data = found(npuc, *TOTAL, "--parallel", "dp", "--overlap", "gradients", "-o", "best.toml")
    before, after = load_hardware("cluster.toml").values, load_hardware("best.toml").values
    assert after["name"] == "cluster-network"
    assert {**after, "name": 0, "network.levels": 0} == {**before, "name": 0, "network.levels": 0}
    rows, own = after["network.levels"], before["network.levels"]
    assert isinstance(rows, list)
    assert isinstance(own, list)
    best = split(data, "best")
    assert [row["gb_per_s"] for row in rows] == best["gb_per_s"]
    assert [{**row, "gb_per_s": 0} for row in rows] == [{**row, "gb_per_s": 0} for row in own]
    report = compile_file("big.dsl", hardware="best.toml", devices=64, parallel="dp")
    assert report.native["overlapped_seconds"] == pytest.approx(best["seconds"], rel=1e-9)
    text = npuc("network", "big.dsl", *MACHINE, *TOTAL, "--parallel", "dp", "-q", "-o", "-").out
    assert text.startswith("# Bandwidths that npuc network found for mlp: ")
    Path("again.toml").write_text(text)
    load_hardware("again.toml")


def test_the_text_says_what_nothing_crosses_and_what_a_product_gains(npuc: Npuc) -> None:
    given = ("network", "big.dsl", "--hw", "cluster.toml", "--mesh", "2", *TOTAL, "-q")
    assert "unused    no bytes of this step cross b1 and b2" in npuc(*given).out
    text = npuc("network", "big.dsl", *MACHINE, *TOTAL, "--objective", "time-cost", "--shapes", "-q").out
    data = found(npuc, *TOTAL, "--objective", "time-cost")
    best, equal = ((one["seconds"] * one["usd"]) for one in (split(data, "best"), split(data, "equal")))
    assert f"and {100 * best / equal:.1f}% of its time x cost." in " ".join(text.split())
    assert "unused" not in text
    Path("flat.toml").write_text(CLUSTER.split('    { kind = "ring"')[0] + "]\n")
    text = npuc("network", "big.dsl", "--hw", "flat.toml", "--devices", "8", *TOTAL, "--shapes", "-q").out
    assert "shapes    one shape of as many devices" in text


def test_levels_that_the_mesh_does_not_reach_are_left_out_of_the_machine(npuc: Npuc) -> None:
    given = ("network", "big.dsl", "--hw", "cluster.toml", "--mesh", "2", *TOTAL, "-q")
    data = json.loads(npuc(*given, "-o", "best.toml", "--json", "-").out)
    assert split(data, "best")["gb_per_s"] == pytest.approx([0, 0, 30])
    assert "# Without b1 to b2 of cluster, which no bytes of the step cross.\n" in Path("best.toml").read_text()
    assert levels_of("best.toml") == [{**levels_of("cluster.toml")[2], "gb_per_s": pytest.approx(30)}]
    report = compile_file("big.dsl", hardware="best.toml", mesh="2")
    assert report.totals.seconds == pytest.approx(split(data, "best")["seconds"], rel=1e-9)
    kept = (*given, "--constraint", "b1 >= 1", "-o", "kept.toml")
    outcome = npuc(*kept)
    assert outcome.status == 2
    assert "the best split has 0 GB/s at b2, which no bytes cross, and a level of a machine has more" in outcome.err
    assert not Path("kept.toml").exists()
    assert npuc(*kept, "--constraint", "b2 >= 1").status == 0
    assert [row["gb_per_s"] for row in levels_of("kept.toml")] == pytest.approx([1, 1, 28])


def test_the_curve_is_below_all_splits_and_needs_no_prices(npuc: Npuc) -> None:
    data = found(npuc, *TOTAL, "--shapes")
    curve = {point["usd"]: point["seconds"] for point in data["curve"]}
    for one in data["splits"]:
        assert curve[one["usd"]] <= one["seconds"] * (1 + 1e-9)
    Path("none.toml").write_text(
        Path("cluster.toml").read_text().replace("link_usd_per_gb_per_s = 2 ", "link_usd_per_gb_per_s = 0 ")
    )
    for machine in ("none.toml", "free.toml"):
        outcome = npuc("network", "big.dsl", "--hw", machine, "--devices", "64", *TOTAL, "-q", "--json", "-")
        assert outcome.status == 0, outcome.err
        curve = json.loads(outcome.out)["curve"]
        assert {one["usd"] for one in curve} == {None}
        assert curve[0]["total_gb_per_s"] == pytest.approx(15)


def test_one_device_has_nothing_to_split(npuc: Npuc) -> None:
    outcome = npuc("network", "big.dsl", "--hw", "cluster.toml", *TOTAL)
    assert outcome.status == 2
    assert "one device sends nothing" in outcome.err
    assert npuc("network", "big.dsl", "--devices", "4", *TOTAL).status == 2


def test_chunks_that_do_not_count_are_said(npuc: Npuc) -> None:
    passes = ("-p", "parallelize{strategy=dp devices=64},autodiff,schedule-collectives{chunks=4}")
    assert npuc("opt", "big.dsl", *passes, "-o", "big.mlir").status == 0
    outcome = npuc("network", "big.mlir", "--hw", "cluster.toml", *TOTAL)
    assert outcome.status == 0, outcome.err
    assert "warning: collectives count as wholes here, without their chunks (dist.chunks)" in outcome.err


def test_a_step_that_sends_nothing_has_nothing_to_split(npuc: Npuc) -> None:
    outcome = npuc("network", "big.dsl", *MACHINE, *TOTAL, "--inference", "--parallel", "dp")
    assert outcome.status == 2, outcome.out
    assert "devices send nothing in this step" in outcome.err
