"""The study of hybrid parallelism: plans against the reference, rows against the paper, steps against the driver."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler import compile_file
from npuc.compiler.core.options import Convention, Strategy
from npuc.hardware import load_hardware
from npuc.studies.hypar.claims import FigureRow, claim_rows
from npuc.studies.hypar.networks import SOURCES, HyparNetwork, gigabytes, networks_of
from npuc.studies.hypar.results import NetworkResult, gain, needed_seconds
from npuc.studies.hypar.settings import (
    STUDIED_STRATEGIES,
    TOPOLOGIES,
    TREE,
    Topology,
    machine_of,
    over_owt,
    published,
)
from npuc.studies.hypar.space import best_of
from npuc.studies.hypar.steps import AcceleratorStep, StepCost
from npuc.studies.hypar.study import HyparResults, plan_study, run_study

REFERENCE: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "oracle" / "data" / "hypar" / "public.json").read_text(encoding="utf-8")
)["networks"]
PLANS: dict[str, Strategy] = {"all_dp": "dp", "all_mp": "mp", "owt": "owt", "hypar": "hypar", "joint_optimum": "joint"}


@pytest.fixture(scope="module")
def study() -> HyparResults:
    """Of two networks, of which one has layers that 16 accelerators cannot share."""
    return run_study(plan_study("published", ["SFC", "samples:lenet_c"]))


def row_of(study: HyparResults, claim: str, network: str, strategy: str) -> FigureRow:
    """The row of that claim."""
    (found,) = (
        row for row in study.rows if (row.claim, row.network, row.strategy) == (claim, network, strategy)
    )  # fmt: skip
    return found


@pytest.mark.oracle
@pytest.mark.parametrize("name", REFERENCE)
def test_plans_are_those_of_the_reference(name: str) -> None:
    network = HyparNetwork(name, SOURCES[name])
    conventions: tuple[Convention, ...] = ("published", "table2")
    for convention in conventions:
        entry = REFERENCE[name]["conventions"][convention]
        for key, strategy in PLANS.items():
            planned = network.plan(strategy, convention, 16)
            assert gigabytes(planned) == pytest.approx(entry[key]["total"]["bytes"] / 1e9, rel=1e-12)
        chosen = network.choices(network.plan("hypar", convention, 16))
        assert chosen == tuple("".join(c[0] for c in level["choices"]) for level in entry["hypar"]["levels"])


def test_communication_and_choices_are_the_papers_but_for_mp(study: HyparResults) -> None:
    for name in ("SFC", "Lenet-c"):
        assert row_of(study, "choices, H1 to H4", name, "hypar").reproduced
        for strategy in ("dp", "hypar"):
            assert row_of(study, "communication of a step", name, strategy).reproduced
        missed = row_of(study, "communication of a step", name, "mp")
        assert missed.reproduced is False
        assert "bars of mp" in missed.note
        assert row_of(study, "communication of a step", name, "joint").reproduced is None


def test_a_step_that_has_no_program_is_not_made_up(study: HyparResults) -> None:
    row = row_of(study, "performance over dp", "Lenet-c", "hypar")
    assert (row.ours, row.reproduced, row.published) == (None, False, 3.05)
    assert row.note.startswith("no program: layer 'fc2' splits its input channels: found 500")
    refused = {(scale.strategy, scale.devices): scale.note for scale in study.scales if not scale.seconds}
    assert set(refused) == {("hypar", 32), ("hypar", 64)}
    assert all("found 784" in note for note in refused.values())


def test_a_joint_program_of_another_plan_says_so(study: HyparResults) -> None:
    rows = [
        row for row in study.rows if row.strategy == "joint" and row.network == "Lenet-c" and " over dp" in row.claim
    ]
    assert len(rows) == 2
    report = compile_file("samples:lenet_c", hardware="hypar16", devices=16, parallel="joint", convention="published")
    assert report.parallel is not None
    assert {row.note for row in rows} == {
        f"of a plan with divisible cuts, which moves {int(report.parallel.total.bytes or 0) / 1e9:.4g} GB"
    }


def test_gains_are_those_of_compiled_steps(study: HyparResults) -> None:
    def seconds(strategy: str, hardware: str) -> float:
        report = compile_file(
            "samples:sfc", backend="cycle", hardware=hardware, devices=16, parallel=strategy, convention="published"
        )
        assert report.totals.seconds is not None
        return report.totals.seconds

    tree = {strategy: seconds(strategy, "hypar16") for strategy in ("dp", "hypar")}
    assert row_of(study, "performance over dp", "SFC", "hypar").ours == pytest.approx(tree["dp"] / tree["hypar"])
    torus = row_of(study, "performance on the torus over that on the H-tree", "SFC", "hypar").ours
    assert torus == pytest.approx(tree["hypar"] / seconds("hypar", "hypar16-torus"))


@pytest.mark.parametrize(("topology", "preset"), [("tree", "hypar16"), ("torus", "hypar16-torus")])
def test_machines_are_the_presets_with_energy(topology: Topology, preset: str) -> None:
    own, theirs = machine_of(topology, 16), load_hardware(preset)
    links = [
        [{key: row[key] for key in ("kind", "size", "gb_per_s")} for row in rows]
        for rows in (own.require("network.levels", backend="cycle"), theirs.require("network.levels", backend="cycle"))
        if isinstance(rows, list)
    ]
    assert len(links) == 2
    assert links[0] == links[1]
    rest = {key for key in theirs.values if key not in ("name", "network.levels")}
    assert {key: own.values[key] for key in rest} == {key: theirs.values[key] for key in rest}


def test_scaling_begins_with_one_accelerator_and_nothing_to_move(study: HyparResults) -> None:
    assert study.scaled == "SFC"
    for strategy in ("dp", "hypar"):
        own = [scale for scale in study.scales if scale.strategy == strategy]
        assert own[0].gb == 0
        assert len({own[0].seconds[topology] for topology in TOPOLOGIES}) == 1
        assert [scale.gb for scale in own] == sorted(scale.gb for scale in own)
    dp = {scale.devices: scale.gb for scale in study.scales if scale.strategy == "dp"}
    assert dp[16] == row_of(study, "communication of a step", "SFC", "dp").ours


def test_the_space_has_every_choice_and_hypars_is_the_least(study: HyparResults) -> None:
    assert len({(choice.top, choice.bottom) for choice in study.space}) == 256
    (own,) = (choice for choice in study.space if choice.chosen)
    assert best_of(study.space) == own
    assert own.gb == row_of(study, "communication of a step", "Lenet-c", "hypar").ours


def test_a_difference_in_the_space_is_what_the_papers_formula_gives(study: HyparResults) -> None:
    """fc1 and fc2 of `mp` at H4 in place of `dp`, below dp for all at H1, mp for fc1 at H2, dp for all at H3."""
    fc1, fc2 = REFERENCE["Lenet-c"]["layers"][2:]
    entering, between, leaving = (
        256 * size
        for size in (
            fc1["input_elements_per_sample"],
            fc1["handed_on_elements_per_sample"],
            fc2["handed_on_elements_per_sample"],
        )
    )
    dp = fc1["weight_elements"] / 2 + fc2["weight_elements"]
    mp = between / 4 + leaving / 8 + entering / 8 / 2
    by = {(choice.top, choice.bottom): choice.gb for choice in study.space}
    pairs, element_bytes, directions = 8, 4, 2
    assert by["dddd", "dddd"] - by["dddd", "ddmm"] == pytest.approx(
        pairs * (dp - mp) * element_bytes * directions / 1e9
    )


def cost(seconds: float) -> dict[Topology, StepCost]:
    """A step of so many seconds and joules, all of it work."""
    return {topology: StepCost(seconds, 0.0, seconds) for topology in TOPOLOGIES}


def results(times: list[tuple[float | None, float | None]]) -> dict[str, dict[Strategy, NetworkResult]]:
    """Networks with the times of dp and of all else; None without a program."""
    found: dict[str, dict[Strategy, NetworkResult]] = {}
    for number, (base, other) in enumerate(times):
        own: dict[Strategy, NetworkResult] = {}
        for strategy in STUDIED_STRATEGIES:
            seconds = base if strategy == "dp" else other
            step = (
                AcceleratorStep(1, {}, "tensors cannot be cut")
                if seconds is None
                else AcceleratorStep(1, cost(seconds))
            )
            own[strategy] = NetworkResult(("d",), 1.0, {}, step)
        found[f"net{number}"] = own
    return found


@pytest.mark.parametrize(
    ("times", "ours", "note"),
    [
        ([(8.0, 1.0), (2.0, 1.0), (4.0, 1.0)], 4.0, "as of the networks"),
        ([(8.0, 1.0), (2.0, 1.0), (4.0, None)], 4.0, "2 of 3 networks have a program; as of the networks"),
        ([(8.0, 1.0), (2.0, None), (4.0, None)], None, "1 of 3 networks have a program"),
    ],
)
def test_means_are_of_the_networks_with_programs_if_these_are_most(
    times: list[tuple[float | None, float | None]], ours: float | None, note: str
) -> None:
    found = results(times)
    rows = claim_rows([HyparNetwork(name, name) for name in found], found, "published", means=True)
    (row,) = (
        row
        for row in rows
        if (row.claim, row.network, row.strategy) == ("performance over dp", "gmean", "hypar")
    )  # fmt: skip
    assert row.ours == (None if ours is None else pytest.approx(ours))
    assert (row.published, row.note, row.reproduced) == (3.39, note, False)


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(1.1, 30))
def test_needed_work_gives_the_performance(a: float, b: float, performance: float) -> None:
    def result(communication: float, work: float = 0.0) -> NetworkResult:
        step = AcceleratorStep(1, {TREE: StepCost(communication + work, communication, 1.0)})
        return NetworkResult(("d",), 1.0, {}, step)

    work = needed_seconds(result(a), result(b), performance)
    if work is None:
        assert a <= performance * b
    else:
        gained = gain(result(a, work), result(b, work), "performance")
        assert gained == pytest.approx(performance, rel=1e-6)


def test_networks_by_either_name_come_once() -> None:
    assert [network.name for network in networks_of(["vgg_a", "VGG-A", "samples:vgg_a", "sfc"])] == ["VGG-A", "SFC"]
    assert [network.name for network in networks_of(["samples:mlp"])] == ["mlp"]
    assert [network.name for network in networks_of([])] == list(SOURCES)


def test_published_numbers_are_of_known_networks() -> None:
    assert set(published()) - {"gmean"} <= set(SOURCES)
    assert over_owt() == {"performance": 1.62, "energy": 1.22}
