"""The study of hybrid parallelism: plans against the reference, rows against the paper, steps against the driver."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler import compile_file
from npuc.compiler.core.kinds import real
from npuc.compiler.core.options import Convention, Strategy
from npuc.hardware import load_hardware
from npuc.studies.hypar.claims import FigureRow, claim_rows
from npuc.studies.hypar.networks import SOURCES, HyparNetwork, gigabytes, networks_of
from npuc.studies.hypar.platform import LEAST, LINK, READINGS, Links, Platform, platform_of
from npuc.studies.hypar.results import NetworkResult, gain, needed_seconds
from npuc.studies.hypar.settings import (
    STUDIED_STRATEGIES,
    TOPOLOGIES,
    TREE,
    Topology,
    over_owt,
    published,
)
from npuc.studies.hypar.space import best_of
from npuc.studies.hypar.steps import AcceleratorStep, StepCost
from npuc.studies.hypar.study import HyparPlan, HyparResults, run_study
from npuc.studies.hypar.topology import Made, topology_claims
from tests.support.shared import hypar_results

REFERENCE: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "oracle" / "data" / "hypar" / "public.json").read_text(encoding="utf-8")
)["networks"]
PLANS: dict[str, Strategy] = {"all_dp": "dp", "all_mp": "mp", "owt": "owt", "hypar": "hypar", "joint_optimum": "joint"}


@pytest.fixture(scope="module")
def study() -> HyparResults:
    return hypar_results()


def row_of(study: HyparResults, claim: str, network: str, strategy: str) -> FigureRow:
    """The row of that claim."""
    (found,) = (
        row for row in study.rows if (row.claim, row.network, row.strategy) == (claim, network, strategy)
    )  # fmt: skip
    return found


def test_plans_by_what_a_program_moves_have_letters_of_all_types() -> None:
    network = HyparNetwork("Lenet-c", SOURCES["Lenet-c"])
    letters = "".join(network.choices(network.plan("joint", "physical", 16)))
    assert len(letters) == 4 * 4
    assert set(letters) == {"d", "m", "o"}


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
            "samples:sfc",
            backend="cycle",
            hardware=hardware,
            devices=16,
            parallel=strategy,
            convention="published",
            tolerance=LEAST,
        )
        assert report.totals.seconds is not None
        return report.totals.seconds

    tree = {strategy: seconds(strategy, "hypar16") for strategy in ("dp", "hypar")}
    assert row_of(study, "performance over dp", "SFC", "hypar").ours == pytest.approx(tree["dp"] / tree["hypar"])
    torus = row_of(study, "performance on the torus over that on the H-tree", "SFC", "hypar").ours
    assert torus == pytest.approx(tree["hypar"] / seconds("hypar", "hypar16-torus"))


@pytest.mark.parametrize(("topology", "preset"), [("tree", "hypar16"), ("torus", "hypar16-torus")])
def test_machines_are_the_presets_with_energy(topology: Topology, preset: str) -> None:
    own, theirs = platform_of().machine_of(topology, 16), load_hardware(preset)
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
    rows = claim_rows([HyparNetwork(name, name) for name in found], found, "published", platform_of(), means=True)
    (row,) = (
        row
        for row in rows
        if (row.claim, row.network, row.strategy) == ("performance over dp", "gmean", "hypar")
    )  # fmt: skip
    assert row.ours == (None if ours is None else pytest.approx(ours))
    assert (row.published, row.note, row.reproduced) == (3.39, note, False)


@pytest.mark.parametrize(
    ("links", "rates", "all_levels", "middle"),
    [("link", (0.2, 0.4), (0.8, 0.8), (1.6, 1.6)), ("accelerator", (0.2, 0.1), (0.8, 0.2), (1.6, 0.4)),
     ("array", (0.05, 0.1), (0.2, 0.2), (0.4, 0.4))],
)  # fmt: skip
def test_what_a_reading_of_the_links_makes_equal(
    links: Links, rates: tuple[float, float], all_levels: tuple[float, float], middle: tuple[float, float]
) -> None:
    """Of 16 accelerators, in GB/s: the levels of one together, and what crosses the middle each way."""
    levels = [
        rows
        for topology in TOPOLOGIES
        if isinstance(rows := platform_of().machine_of(topology, 16, links).get("network.levels"), list)
    ]
    assert tuple(real(rows[0]["gb_per_s"]) for rows in levels) == pytest.approx(rates)
    assert tuple(sum(real(row["gb_per_s"]) for row in rows) for rows in levels) == pytest.approx(all_levels)
    # the tree's outermost pair, eight devices on a side; the torus' four rings, cut twice, half of a rate each way
    assert (8 * rates[0], 4 * 2 * rates[1] / 2) == pytest.approx(middle)


def test_the_readings_are_scored_on_their_machines(study: HyparResults) -> None:
    for row in study.topology:
        if (row.network, row.plan) == ("SFC", "dp"):
            for topology, seconds in (("tree", row.tree_seconds), ("torus", row.torus_seconds)):
                machine = platform_of().machine_of("tree" if topology == "tree" else "torus", 16, row.links)
                report = compile_file(
                    "samples:sfc", hardware=machine.values, devices=16, parallel="dp", tolerance=LEAST
                )
                assert report.totals.seconds == pytest.approx(seconds)


def test_a_plan_made_for_a_topology_takes_the_least_time_there(study: HyparResults) -> None:
    """Between accelerators, of SFC, whose plans have the same work: each plan is best on its own topology."""
    own = {row.plan: row for row in study.topology if (row.network, row.links) == ("SFC", LINK)}
    assert set(own) == {"dp", "hypar", "for the H-tree", "for the torus"}
    tree = {plan: row.tree_communication for plan, row in own.items() if row.tree_communication is not None}
    torus = {plan: row.torus_communication for plan, row in own.items() if row.torus_communication is not None}
    assert tree["for the H-tree"] == min(tree.values())
    assert torus["for the torus"] == min(torus.values()) < torus["for the H-tree"] < torus["hypar"]


def test_a_network_without_a_program_of_hypars_has_plans_of_a_topology(study: HyparResults) -> None:
    own = {row.plan: row for row in study.topology if (row.network, row.links) == ("Lenet-c", LINK)}
    assert own["hypar"].torus_seconds is None
    assert own["for the torus"].torus_seconds is not None


@pytest.mark.parametrize(("tree", "torus", "ours"), [(1.0, 2.0, 0.5), (2.0, 1.0, 2.0)])
def test_signs_of_the_authors_are_compared(tree: float, torus: float, ours: float) -> None:
    """The H-tree is faster with HyPar's plan; a plan made for the torus is faster on it than HyPar's."""
    costs: dict[Topology, StepCost] = {"tree": StepCost(tree, 0.0, 1.0), "torus": StepCost(torus, 0.0, 1.0)}
    step = AcceleratorStep(1, costs, readings=dict.fromkeys(READINGS, costs))
    faster: dict[Topology, StepCost] = {}
    for topology, cost in costs.items():
        faster[topology] = StepCost(cost.seconds / 2, 0.0, 1.0)
    own: dict[Strategy, NetworkResult] = {s: NetworkResult(("d",), 1.0, {}, step) for s in STUDIED_STRATEGIES}
    made: Made = {"net": {"tree": step, "torus": AcceleratorStep(1, faster)}}
    rows = topology_claims(
        [HyparNetwork("net", "net")], {"net": own}, made, "published", platform_of(), means=True
    )  # fmt: skip
    signs = {row.published: row for row in rows if isinstance(row.published, str)}
    assert set(signs) == {"below 1", "above 1"}
    assert (signs["below 1"].ours, signs["below 1"].reproduced) == (pytest.approx(ours), ours < 1)
    assert (signs["above 1"].ours, signs["above 1"].reproduced) == (pytest.approx(2.0), True)


def test_other_accelerators_keep_their_links_rate() -> None:
    """Two links of a ring make its rate; a machine without a network has the paper's links."""
    assert platform_of().gb_per_s == platform_of("hypar16-torus").gb_per_s == 0.2
    other = platform_of("igo-large")
    assert other.gb_per_s == 0.2
    assert other.machine_of("torus", 4).get("array.rows") == load_hardware("igo-large").get("array.rows")


def test_a_machine_without_energies_has_times_alone() -> None:
    values = {k: v for k, v in load_hardware("hypar16").values.items() if not k.startswith("energy.")}
    hardware = load_hardware(values)
    links = platform_of().link
    found = run_study(
        HyparPlan("published", networks_of(["samples:mlp"]), Platform("own", hardware, links))
    )  # fmt: skip
    gains = {row.claim: row.ours for row in found.rows if row.strategy == "hypar" and "over dp" in row.claim}
    assert gains["energy efficiency over dp"] is None
    assert isinstance(gains["performance over dp"], float)


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
