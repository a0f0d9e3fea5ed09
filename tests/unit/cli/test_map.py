"""`npuc map`: never worse than the mappings to begin with, written back as it was scored, the same for a seed."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler import compile_file
from npuc.compiler.explore.mapping.search import Search
from tests.support.pictures import texts_of
from tests.unit.cli.test_commands import Npuc

CONV = """network conv(batch = 2) {
  input x: f32[batch, 3, 8, 8]
  labels t: i32[batch]
  a = conv2d(x, 8, kernel=3, stride=2, padding=1)
  b = conv2d(relu(a), 8, kernel=3, padding=1, groups=8)
  c = conv2d(relu(b), 8, kernel=1)
  d = conv2d(relu(c), 8, kernel=1)
  y = linear(flatten(relu(d)), 10)
  loss cross_entropy(y, t)
  optimizer sgd(lr=0.01)
}
"""
ON_16 = ("-q", "--set", "maestro.num_pes=16")
QUICK = ("--budget", "300", *ON_16)


@pytest.fixture(autouse=True)
def network(npuc: Npuc) -> None:
    Path("conv.dsl").write_text(CONV)


def found(npuc: Npuc, *options: str) -> dict[str, Any]:
    outcome = npuc("map", "conv.dsl", *(ON_16 if "--budget" in options else QUICK), "--json", "-", *options)
    assert (outcome.status, outcome.err) == (0, "")
    return json.loads(outcome.out)


@pytest.mark.parametrize("mode", ["exact", "parity"])
@pytest.mark.parametrize("objective", ["time", "energy", "edp"])
def test_what_is_written_back_scores_what_the_search_said(npuc: Npuc, objective: str, mode: str) -> None:
    data = found(npuc, "--objective", objective, "--mode", mode, "-o", "best.mlir")
    settings = {"maestro.num_pes": 16, "maestro.mode": mode}
    report = compile_file("best.mlir", backend="maestro", overrides=settings)
    rows = [row for row in report.ops if row.kind == "matrix"]
    assert report.totals.cycles == data["totals"]["best"]["cycles"]
    assert len(rows) == len(data["rows"])
    for row, said in zip(rows, data["rows"], strict=True):
        best = data["contractions"][said["contraction"]]["best"]
        assert (row.name, row.phase, row.repeat, row.macs) == tuple(
            said[key] for key in ("layer", "phase", "repeat", "macs")
        )
        assert row.cycles == best["cycles"]
        assert row.native["energy_total_mac_units"] == best["energy_mac_units"]
        assert row.utilization == said["utilization"]
        assert said["utilization"] <= 1
    default = compile_file("conv.dsl", backend="maestro", overrides=settings)
    assert default.totals.cycles == data["totals"]["default"]["cycles"]


@pytest.mark.parametrize("mode", ["exact", "parity"])
def test_curves_fall_from_the_default_cost_and_no_mapping_is_worse(npuc: Npuc, mode: str) -> None:
    data = found(npuc, "--objective", "edp", "--mode", mode, "--set", "maestro.l1_size=200")
    for one in data["contractions"]:
        assert one["default_fits"]
        assert one["fits"]
        counts, costs = zip(*one["curve"], strict=True)
        assert counts[0] == 1
        assert costs[0] == one["default"]["cycles"] * one["default"]["energy_mac_units"]
        assert list(counts) == sorted(set(counts))
        assert list(costs) == sorted(set(costs), reverse=True)
        assert costs[-1] == one["best"]["cycles"] * one["best"]["energy_mac_units"]
        assert one["ratio"] == costs[0] / costs[-1] >= 1
        assert counts[-1] <= one["evaluations"]


def test_a_seed_decides_whatever_else_is_searched(npuc: Npuc) -> None:
    every, again = found(npuc), found(npuc)
    assert every == again
    alone = found(npuc, "--only", "c")
    assert {row["layer"] for row in alone["rows"]} == {"c"}
    for row in alone["rows"]:
        (same,) = [r for r in every["rows"] if (r["layer"], r["phase"]) == (row["layer"], row["phase"])]
        assert alone["contractions"][row["contraction"]] == every["contractions"][same["contraction"]]
    other = found(npuc, "--seed", "1")
    assert [one["curve"] for one in other["contractions"]] != [one["curve"] for one in every["contractions"]]


def test_equal_contractions_are_searched_once(npuc: Npuc) -> None:
    data = found(npuc)
    numbers = {(row["layer"], row["phase"]): row["contraction"] for row in data["rows"]}
    for phase in ("forward", "dx", "dw"):
        assert numbers["c", phase] == numbers["d", phase]
    assert len(data["contractions"]) == len(data["rows"]) - 3
    assert all(one["evaluations"] >= 300 for one in data["contractions"])


def test_more_budget_is_never_worse(npuc: Npuc) -> None:
    costs = [found(npuc, "--budget", budget)["totals"]["best"]["cycles"] for budget in ("1", "50", "3000")]
    assert costs == sorted(costs, reverse=True)


def test_csv_says_what_json_says(npuc: Npuc) -> None:
    data = found(npuc, "--csv", "rows.csv")
    with open("rows.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row, said in zip(rows, data["rows"], strict=True):
        one = data["contractions"][said["contraction"]]
        assert (row["layer"], row["phase"]) == (said["layer"], said["phase"])
        assert float(row["cycles"]) == one["best"]["cycles"]
        assert float(row["default_energy_mac_units"]) == one["default"]["energy_mac_units"]
        assert row["mapping"] == one["mapping"]
        pairs = [pair.split(":") for pair in row["curve"].split()]
        assert [[int(count), float(cost)] for count, cost in pairs] == one["curve"]
    assert npuc("map", "conv.dsl", *QUICK, "--csv", "-").out == Path("rows.csv").read_text()


def test_a_table_and_a_verdict(npuc: Npuc) -> None:
    outcome = npuc("map", "conv.dsl", "--budget", "300")
    lines = outcome.out.splitlines()
    assert lines[0] == "conv (conv.dsl): mappings for least time on nvdla, mode exact"
    assert any(line.split()[:4] == ["c", "(+1)", "forward", "2"] for line in lines)
    assert lines[-1].startswith("verdict   The time of the default mappings is ")
    assert "distinct contractions in" in outcome.err.splitlines()[-1]


def test_a_picture(npuc: Npuc) -> None:
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        assert npuc("map", "conv.dsl", *QUICK, "--plot", name).status == 0
    text = Path("a.svg").read_text()
    assert "mappings tried" in texts_of(text)
    assert text == Path("b.svg").read_text()


def test_buffers_limit_what_is_chosen(npuc: Npuc) -> None:
    data = found(npuc, "--set", "maestro.l1_size=30", "--set", "maestro.l2_size=300")
    for one in data["contractions"]:
        assert one["best"]["l1_elements"] <= 30
        assert one["best"]["l2_elements"] <= 300
    outcome = npuc("map", "conv.dsl", *QUICK, "--set", "maestro.l1_size=1")
    assert outcome.status == 3
    assert "a (forward): none of 3" in outcome.err
    assert "fits the machine's buffers" in outcome.err


def test_a_default_mapping_that_does_not_fit_is_shown_and_never_taken(npuc: Npuc) -> None:
    small = found(npuc, "--set", "maestro.l1_size=20")
    every = found(npuc, "--set", "maestro.l1_size=200")
    unfit = [one for one in small["contractions"] if not one["default_fits"]]
    assert 0 < len(unfit) < len(small["contractions"])
    for one, known in zip(small["contractions"], every["contractions"], strict=True):
        assert one["default"] == known["default"]
        assert one["best"]["l1_elements"] <= 20
        assert one["default_fits"] == (one["default"]["l1_elements"] <= 20)
    lines = npuc("map", "conv.dsl", *QUICK, "--set", "maestro.l1_size=20", "--rows", "all").out.splitlines()
    count = sum(not small["contractions"][row["contraction"]]["default_fits"] for row in small["rows"])
    (mark,) = [line for line in lines if line.startswith("*   ")]
    assert f"The default mappings of {count} of {len(small['rows'])} contractions do not fit" in mark
    assert sum("* " in line for line in lines[3:-4]) == len(unfit)


def test_directives_that_cannot_fit_are_as_small_as_can_be(npuc: Npuc) -> None:
    options = ("map", "conv.dsl", "--mode", "parity", "--budget", "300", "--json", "best.json")
    outcome = npuc(*options)
    assert outcome.status == 0
    (warning,) = [line for line in outcome.err.splitlines() if "warning" in line]
    assert warning.startswith("npuc: warning: a (forward) and 1 more: directives keep whole windows in an element")
    data = json.loads(Path("best.json").read_text())
    sizes = {data["contractions"][row["contraction"]]["best"]["l1_elements"]: row for row in data["rows"]}
    assert max(sizes) == 2 * (9 + 9 + 9)
    wide = [row for row in data["rows"] if not data["contractions"][row["contraction"]]["fits"]]
    assert [(row["layer"], row["phase"]) for row in wide] == [("a", "forward"), ("b", "forward")]
    assert npuc(*options, "--set", "maestro.l1_size=54").err.count("warning") == 0


def test_a_default_mapping_of_directives_that_does_not_fit_is_marked_too(npuc: Npuc) -> None:
    data = found(npuc, "--mode", "parity", "--set", "maestro.l1_size=20")
    wide = [one for one in data["contractions"] if not one["fits"]]
    assert 0 < len(wide) < len(data["contractions"])
    for one in data["contractions"]:
        assert one["default_fits"] == (one["default"]["l1_elements"] <= 20)
    assert all(not one["default_fits"] for one in wide)
    text = npuc("map", "conv.dsl", *QUICK, "--mode", "parity", "--set", "maestro.l1_size=20", "-q").out
    assert "contractions do not fit into the machine's buffers" in text
    assert "in the " in text.splitlines()[-1]


def test_a_mapping_without_loops_outside_is_its_levels_alone(npuc: Npuc) -> None:
    Path("row.dsl").write_text("network row() {\n  input x: f32[1, 512]\n  output y = linear(x, 3, bias=false)\n}\n")
    options = ("--inference", "--budget", "300", "-q", "--hw", "tpu-v1", "--set", "maestro.num_pes=512")
    options = (*options, "--mapper", "random")
    (line,) = [line for line in npuc("map", "row.dsl", *options).out.splitlines() if line.startswith(" y ")]
    assert line.rstrip().endswith("1: -, 512: k/512")


def test_exhaustive_is_no_worse_than_random_and_refuses_what_is_too_large(npuc: Npuc) -> None:
    options = ("--only", "logits", "--inference", "--levels", "1", "--set", "maestro.num_pes=4", "-q", "--json", "-")
    best, drawn = (
        json.loads(npuc("map", "net.dsl", *options, "--mapper", mapper, "-D", "hidden=3").out)
        for mapper in ("exhaustive", "random")
    )
    assert best["totals"]["best"]["cycles"] <= drawn["totals"]["best"]["cycles"]
    (one,) = best["contractions"]
    outcome = npuc("map", "net.dsl", *options, "-D", "hidden=3", "--mapper", "exhaustive", "--budget", "10")
    assert (outcome.status, outcome.out) == (2, "")
    shown = int(outcome.err.split(" has ")[1].split(" mappings")[0].replace(",", ""))
    assert shown <= one["evaluations"] <= shown + 12
    outcome = npuc("map", "conv.dsl", "--mapper", "exhaustive", "--levels", "3")
    assert outcome.status == 2
    assert "a (forward) has more than 1,000,000,000 mappings, more than the budget of 10,000" in outcome.err


def test_more_parallel_dimensions_and_any_tiles(npuc: Npuc) -> None:
    for options in (("--spread", "2"), ("--tiles", "any"), ("--levels", "3"), ("--levels", "1")):
        data = found(npuc, *options)
        assert all(one["ratio"] >= 1 for one in data["contractions"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--budget", "0"), "--budget 0: expected 1 or more"),
        (("--seed", "-1"), "--seed -1: expected 0 or more"),
        (("--levels", "4"), "--levels 4: expected 1 to 3"),
        (("--spread", "0"), "--spread 0: expected 1 to 3"),
        (("--parallel", "dp"), "--parallel dp needs --devices N"),
        (("--parallel", "dq", "--devices", "2"), "unknown strategy of parallelism 'dq'"),
        (("--parallel", "2", "--spread", "2"), "--spread and --parallel say the same"),
        (("--mapper", "randm"), "--mapper randm: expected genetic, cma-es, exact, exhaustive or random"),
        (("--objective", "traffic"), "--objective traffic: expected time, energy or edp"),
        (("--tiles", "odd"), "--tiles odd: expected divisors or any"),
        (("--mode", "fast"), "--mode fast: expected exact or parity"),
        (("--rows", "some"), "--rows some: expected folded or all"),
        (
            ("--json", "-", "--csv", "-"),
            "only one of --json, --csv, --table, -o and --statistics-json can go",
        ),
        (("--plot", "a.txt"), "--plot a.txt: cannot tell the kind of picture"),
        (("--mode", "parity", "--spread", "2"), "directives spread one dimension a level"),
        (("--hw", "a100"), "maestro.num_pes"),
    ],
)
def test_wrong_usage(npuc: Npuc, options: tuple[str, ...], message: str) -> None:
    outcome = npuc("map", "conv.dsl", *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err


def test_layers_that_cannot_be_mapped(npuc: Npuc) -> None:
    Path("none.dsl").write_text(
        "network only_relu(batch = 2) {\n  input x: f32[batch, 3]\n  y = relu(x)\n  output y\n}\n"
    )
    outcome = npuc("map", "none.dsl", "--inference")
    assert outcome.status == 1
    assert "none.dsl has no contraction to map" in outcome.err


def test_an_interrupt(npuc: Npuc, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "run", interrupted)
    outcome = npuc("map", "conv.dsl", "--csv", "rows.csv")
    assert (outcome.status, outcome.out) == (130, "")
    assert not Path("rows.csv").exists()


def test_latency_is_time(npuc: Npuc) -> None:
    rows = list(csv.reader(io.StringIO(npuc("map", "conv.dsl", *QUICK, "--csv", "-").out)))
    same = list(csv.reader(io.StringIO(npuc("map", "conv.dsl", *QUICK, "--csv", "-", "--objective", "latency").out)))
    assert rows == same


def test_the_former_name_of_spread_says_so(npuc: Npuc) -> None:
    asked = ("map", "conv.dsl", "--budget", "20", "--json", "-")
    now, before = (npuc(*asked, option, "2") for option in ("--spread", "--parallel"))
    assert now.out == before.out
    assert "warning: --parallel 2 of map is --spread 2 now" in before.err
    assert "warning" not in now.err


@pytest.mark.parametrize("mapper", ["random", "genetic", "exact"])
def test_every_result_says_its_gap(npuc: Npuc, mapper: str) -> None:
    data = found(npuc, "--mapper", mapper, "--csv", "map.csv")
    for one in data["contractions"]:
        assert 0 < one["bound"] <= one["best"]["cycles"]
        assert one["gap"] == one["best"]["cycles"] / one["bound"] - 1
    rows = list(csv.DictReader(io.StringIO(Path("map.csv").read_text())))
    assert [float(row["gap"]) for row in rows] == [
        data["contractions"][row["contraction"]]["gap"] for row in data["rows"]
    ]


def test_exact_is_optimal_where_it_says_so(npuc: Npuc) -> None:
    """Against all mappings of the spaces that can be counted."""
    options = ("--levels", "1", "--budget", "200000", "--only", "y")
    exact = found(npuc, *options, "--mapper", "exact")["contractions"]
    every = found(npuc, *options, "--mapper", "exhaustive")["contractions"]
    assert [one["best"]["cycles"] for one in exact] == [one["best"]["cycles"] for one in every]
    assert {one["gap"] for one in exact} == {0}
    table = npuc("map", "conv.dsl", *ON_16, *options, "--mapper", "exact")
    assert "optimal" in table.out


def test_gaps_in_mode_parity(npuc: Npuc) -> None:
    data = found(npuc, "--mode", "parity")
    assert all(one["gap"] >= 0 for one in data["contractions"])
    data = found(npuc, "--mode", "parity", "--objective", "edp")
    assert {(one["bound"], one["gap"]) for one in data["contractions"]} == {(None, None)}
    outcome = npuc("map", "conv.dsl", "--mode", "parity", "--mapper", "exact", *QUICK)
    assert outcome.status == 2
    assert "has no lower bounds in mode parity" in outcome.err
