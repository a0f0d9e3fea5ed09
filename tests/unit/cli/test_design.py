"""`npuc design`: machines that their own compilation confirms, the same for a seed, within budgets, and its errors."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from npuc.compiler import compile_file
from npuc.compiler.explore.design.budget import RETICLE_MM2
from npuc.compiler.explore.design.combine import MOST_SIZES
from npuc.compiler.explore.design.scored import COOLED, WIDE
from npuc.hardware.technology import LEAKAGE_W_PER_MM2, LEAST_SRAM
from tests.docs.pages import read_page
from tests.unit.cli.test_commands import Npuc
from tests.unit.cli.test_map import CONV

QUICK = ("--budget", "3000", "-q")
INT8 = ("--set", "technology.model=gamma-int8")
AT_28 = ("--set", "technology.node_nm=28")


@pytest.fixture(autouse=True)
def network(npuc: Npuc) -> None:
    Path("conv.dsl").write_text(CONV)


def found(npuc: Npuc, *options: str) -> dict[str, Any]:
    outcome = npuc("design", "conv.dsl", *QUICK, "--json", "-", *options)
    assert (outcome.status, outcome.err) == (0, "")
    return json.loads(outcome.out)


@pytest.mark.parametrize("hw", ["nvdla", "eyeriss", "tpu-v4"])
@pytest.mark.parametrize("goals", ["time", "energy", "edp"])
@pytest.mark.parametrize("settings", [INT8, AT_28])
def test_a_compilation_confirms_the_best_machine(npuc: Npuc, hw: str, goals: str, settings: tuple[str, ...]) -> None:
    area = 50.0 if hw == "tpu-v4" else 0.5  # its vector units alone take 8 mm2 at 28 nm
    data = found(
        npuc, "--area-mm2", str(area), "--hw", hw, "--objective", goals, *settings, "-o", "m.toml", "--mapped", "m.mlir"
    )
    (best,) = data["designs"]
    report = compile_file("m.mlir", backend="maestro", hardware="m.toml")
    rows = [row for row in report.ops if row.kind == "matrix"]
    assert report.totals.cycles == best["cycles"] == sum(one["repeat"] * one["cycles"] for one in best["mappings"])
    assert report.totals.energy_j == best["energy_j"]
    assert sum(row.repeat * float(str(row.native["energy_total_mac_units"])) for row in rows) == pytest.approx(
        best["energy_mac_units"], rel=1e-12
    )
    assert report.warnings == [one for one in report.warnings if "other work" in one or "run together" in one]
    assert best["area_mm2"] <= area
    assert best["gap"] >= 0
    if report.energy is not None:
        assert report.energy.area_mm2["chip"] == pytest.approx(best["area_mm2"], rel=1e-3)


def test_a_front_has_machines_that_no_other_one_beats(npuc: Npuc) -> None:
    data = found(npuc, "--area-mm2", "0.5", "--goals", "time,energy,area", *INT8, "--csv", "front.csv")
    points = [(one["cycles"], one["energy_mac_units"], one["area_mm2"]) for one in data["designs"]]
    assert len(points) > 2
    assert points == sorted(points)
    for one in points:
        assert not any(other != one and all(a <= b for a, b in zip(other, one, strict=True)) for other in points)
    rows = list(csv.DictReader(io.StringIO(Path("front.csv").read_text())))
    assert [int(row["cycles"]) for row in rows] == [one["cycles"] for one in data["designs"]]


def test_the_same_seed_has_the_same_answer(npuc: Npuc) -> None:
    first = found(npuc, "--area-mm2", "0.2", *INT8)
    assert found(npuc, "--area-mm2", "0.2", *INT8) == first
    assert found(npuc, "--area-mm2", "0.2", *INT8, "--seed", "1") != first


def test_power_is_limited(npuc: Npuc) -> None:
    free = found(npuc, "--area-mm2", "0.5", *AT_28)["designs"][0]
    watts = free["watts"] / 2
    data = found(npuc, "--area-mm2", "0.5", *AT_28, "--power-w", str(watts), "-o", "m.toml", "--mapped", "m.mlir")
    best = data["designs"][0]
    assert best["watts"] <= watts
    assert best["cycles"] > free["cycles"]
    report = compile_file("m.mlir", backend="maestro", hardware="m.toml")
    assert report.totals.energy_j is not None
    assert report.totals.seconds is not None
    assert report.totals.energy_j / report.totals.seconds == pytest.approx(best["watts"])


def test_a_larger_budget_of_area_is_faster(npuc: Npuc) -> None:
    areas = ("0.02", "0.1", "0.5")
    cycles = [found(npuc, "--area-mm2", area, *INT8)["designs"][0]["cycles"] for area in areas]
    assert cycles == sorted(cycles, reverse=True)


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ((), 2, "a design needs a budget"),
        (("--area-mm2", "0"), 2, "--area-mm2 0: expected more than 0"),
        (("--area-mm2", "1e300"), 2, "--area-mm2 1e+300: expected at most 858\n  hint: no chip is larger than"),
        (("--power-w", "-1"), 2, "--power-w -1: expected more than 0"),
        (("--area-mm2", "1", "--levels", "4"), 2, "--levels 4: expected 1 to 3"),
        (("--area-mm2", "1", "--tiles", "some"), 2, "--tiles some: expected divisors or any"),
        (("--area-mm2", "1", "--goals", "area"), 2, "the smallest machine is one element"),
        (("--area-mm2", "1", "--goals", "speed"), 2, "--goals speed: expected time, energy, edp or area"),
        (("--area-mm2", "1", "--goals", "energy,time", "--objective", "time"), 2, "the first goal is the objective"),
        (("--area-mm2", "1", "--set", "technology.model=npuc"), 2, "from a technology node, which it does not say"),
        (("--area-mm2", "0.0001", *INT8), 3, "no machine of 0.0001 mm2 runs the step: the smallest one takes"),
        (("--area-mm2", "0.5", "--hw", "maestro-example", *INT8, "--power-w", "1"), 2, "needs the energy of a MAC"),
        (("--area-mm2", "0.5", *AT_28, "--power-w", "1e-9"), 3, "takes at most 1e-09 W on average"),
        (("--area-mm2", "0.5", *INT8, "--set", "maestro.mode=parity"), 2, "is searched with exact costs"),
        (("--area-mm2", "1", "--class", ""), 2, "--class : expected four bits, for tiles, order"),
        (("--area-mm2", "1", "--class", "111"), 2, "--class 111: expected four bits, for tiles, order"),
        (("--area-mm2", "1", "--class", "0110", "--levels", "3"), 2, "the dataflow's tiles, on 2 levels"),
        (("--area-mm2", "1", "--class", "any", "--goals", "time,area"), 2, "compares classes by one goal"),
        (("--area-mm2", "1", "-O", "2"), 2, "npuc design has none: each contraction is mapped by itself"),
    ],
)
def test_errors(npuc: Npuc, options: tuple[str, ...], status: int, said: str) -> None:
    outcome = npuc("design", "conv.dsl", *QUICK, *options, "-o", "m.toml")
    assert outcome.status == status
    assert said in outcome.err
    assert not Path("m.toml").exists()


@pytest.mark.parametrize(
    ("options", "lacks"),
    [
        (("--area-mm2", "0.0001", *INT8), "--area-mm2"),
        (("--area-mm2", "0.0001", "--set", "technology.model=gamma"), "--area-mm2"),
        (("--area-mm2", "0.0001", *AT_28), "--area-mm2"),
        (("--area-mm2", "0.5", *AT_28, "--power-w", "1e-9"), "--power-w"),
        (("--power-w", "1e-9", *AT_28), "--power-w"),
    ],
)
def test_the_hint_of_an_impossible_budget_is_one_that_does(npuc: Npuc, options: tuple[str, ...], lacks: str) -> None:
    """It names the budget that cannot be met, with a value under which a machine is found."""
    outcome = npuc("design", "conv.dsl", *QUICK, *options)
    assert outcome.status == 3
    found = re.search(rf"hint: {lacks} (\S+),", outcome.err)
    assert found is not None, outcome.err
    at = options.index(lacks) + 1
    again = (*options[:at], found[1], *options[at + 1 :])
    assert npuc("design", "conv.dsl", *QUICK, *again).status == 0


def test_a_machine_without_a_node_gets_a_published_formula(npuc: Npuc) -> None:
    outcome = npuc("design", "conv.dsl", "--budget", "3000", "--area-mm2", "0.2", "-o", "m.toml", "--json", "d.json")
    assert "nvdla has no technology node: areas by gamma-int8" in outcome.err
    assert json.loads(Path("d.json").read_text())["designs"] == found(npuc, "--area-mm2", "0.2", *INT8)["designs"]
    assert 'model = "gamma-int8"' in Path("m.toml").read_text()


def test_keys_that_lowering_reads_are_not_warned_of(npuc: Npuc) -> None:
    options = ("--budget", "500", "--area-mm2", "0.2", "--json", "-")
    assert "no effect" not in npuc("design", "conv.dsl", *options, "--set", "maestro.mapping=rs").err
    assert "array.fill has no effect" in npuc("design", "conv.dsl", *options, "--set", "array.fill=overlap").err


def test_the_text_says_the_machine(npuc: Npuc) -> None:
    text = npuc("design", "conv.dsl", *QUICK, "--area-mm2", "0.2", *INT8).out
    assert "machines of 0.2 mm2 (area model gamma-int8) for least time" in text
    assert "given     nvdla" in text
    assert "verdict" in text


@pytest.mark.parametrize("goal", ["time", "energy"])
def test_the_best_machine_of_each_class(npuc: Npuc, goal: str) -> None:
    """More choice is never worse; the best one is written, confirmed by a compilation, and of its class."""
    files = ("-o", "m.toml", "--mapped", "m.mlir", "--mapping", "rs")
    data = found(npuc, "--area-mm2", "0.1", *INT8, "--class", "any", "--objective", goal, *files)
    key = {"time": "cycles", "energy": "energy_mac_units"}[goal]
    values = {one["class"]: one[key] for one in data["designs"]}
    assert data["classes"] == sorted(data["classes"], key=lambda name: (name.count("1"), name))
    assert set(values) <= set(data["classes"])
    assert len(data["classes"]) == 16
    for inner in values:
        for outer in data["classes"]:
            if all(a <= b for a, b in zip(inner, outer, strict=True)):
                assert values[outer] <= values[inner]
    best = data["designs"][0]
    report = compile_file("m.mlir", backend="maestro", hardware="m.toml")
    assert report.totals.cycles == best["cycles"]
    text = npuc("flexibility", "conv.dsl", "--hw", "m.toml", "--budget", "1", "-q").out
    assert f"dataflow rs, class {best['class']} (TOPS)" in text
    assert min(one["gap"] for one in data["designs"]) >= 0


def test_a_class_alone_has_its_machine(npuc: Npuc) -> None:
    data = found(npuc, "--area-mm2", "0.1", *INT8, "--class", "0110", "-o", "m.toml")
    assert [one["class"] for one in data["designs"]] == data["classes"] == ["0110"]
    values = 'tiles = "fixed"\norder = "any"\nparallel = "any"\nshape = "fixed"'
    assert f"[flexibility]\n{values}" in Path("m.toml").read_text()


def test_classes_as_text_and_picture(npuc: Npuc) -> None:
    pytest.importorskip("matplotlib")
    picture = ("--class", "0000,1110,1111", "--plot", "p.svg", "--json", "d.json")
    assert npuc("design", "conv.dsl", *QUICK, "--area-mm2", "0.2", *INT8, *picture).status == 0
    assert npuc("plot", "d.json", "-o", "q.svg").status == 0
    assert Path("p.svg").read_text() == Path("q.svg").read_text()
    text = npuc("design", "conv.dsl", *QUICK, "--area-mm2", "0.2", *INT8, "--class", "0000,1110,1111").out
    assert re.search(r"^ 0000 +none .* 1\.00 ", text, re.MULTILINE)
    assert re.search(r"^ 111[01] < ", text, re.MULTILINE)
    assert "classes   111" in text


@pytest.mark.parametrize("goals", ["time", "time,area", "energy,time"])
def test_pictures(npuc: Npuc, goals: str) -> None:
    pytest.importorskip("matplotlib")
    outcome = npuc("design", "conv.dsl", *QUICK, "--area-mm2", "0.2", *INT8, "--goals", goals, "--plot", "p.svg")
    assert outcome.status == 0
    assert Path("p.svg").read_text().startswith("<?xml")


LARGE = """network large(batch = 16) {
  input x: f32[batch, 16, 28, 28]
  labels t: i32[batch]
  a = conv2d(x, 64, kernel=3, padding=1)
  y = linear(global_avg_pool(relu(a)), 10)
  loss cross_entropy(y, t)
  optimizer sgd(lr=0.1)
}
"""
LIMITS = {
    "registers": (
        (*AT_28, "--constraints", "nvdla"),
        "the least that any mapping has (two of each operand, two sums), are registers: their area",
    ),
    "heat": (AT_28, "W/mm2, without DRAM, are more than chips are cooled at, about 1"),
    "formula": (INT8, "the area model gamma-int8 has no least memory"),
    "idle": ((*AT_28, "--objective", "energy"), "at 0.1 W/mm2 another"),
    "width": ((*AT_28, "--constraints", "wide.toml"), "a level of 300 sub-clusters gets its data"),
    "network": (("--hw", "igo-large", *INT8), "no bandwidth of its network (maestro.noc_bw)"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_that_the_model_leaves_out_are_said(npuc: Npuc, name: str) -> None:
    Path("large.dsl").write_text(LARGE)
    Path("wide.toml").write_text("[[constraints.rules]]\nlevel = 1\nfanout = 300\n")
    options, said = LIMITS[name]
    outcome = npuc("design", "large.dsl", "--area-mm2", "0.5", "--budget", "1500", "-q", "--json", "d.json", *options)
    assert (outcome.status, outcome.err) == (0, "")
    limits: list[str] = json.loads(Path("d.json").read_text())["designs"][0]["limits"]
    assert [one for one in limits if said in one] != [], limits
    text = " ".join(outcome.out.split())
    assert all(f"limit {one}" in text for one in limits)


def test_a_cool_machine_of_known_bandwidth_has_fewer(npuc: Npuc) -> None:
    Path("large.dsl").write_text(LARGE)
    options = ("--budget", "1500", "-q", *AT_28, "--area-mm2", "0.5", "--power-w", "0.2", "--json", "-")
    limits = " ".join(json.loads(npuc("design", "large.dsl", *options).out)["designs"][0]["limits"])
    assert not [one for one in ("W/mm2, without", "noc_bw", "sub-clusters") if one in limits]


def test_areas_by_part_are_the_area(npuc: Npuc) -> None:
    for settings in (INT8, AT_28):
        for one in found(npuc, "--area-mm2", "0.2", *settings, "--goals", "time,area")["designs"]:
            parts = one["area_by_part_mm2"]
            assert {"elements", "elements' buffers", "shared buffer"} <= set(parts)
            assert sum(parts.values()) == pytest.approx(one["area_mm2"], rel=1e-3)


def test_the_page_has_the_limits_of_the_program() -> None:
    page = read_page("design")
    for said in (
        f"less than {LEAST_SRAM:g} KiB in each element",
        f"more than {WIDE} sub-clusters",
        f"more than {COOLED:g} W/mm2, without DRAM",
        f"about {LEAKAGE_W_PER_MM2:g} W/mm2 of leakage",
        f"more than {MOST_SIZES} sizes",
        f"the limit is {RETICLE_MM2:g} mm2",
    ):
        assert said in page
