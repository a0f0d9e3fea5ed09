"""The study of interleaved gradient orders: rows, the prototype's numbers, what must hold whatever the machine."""

import json
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from io import StringIO
from statistics import correlation

import pytest
from rich.console import Console

from npuc.compiler import compile_file
from npuc.compiler.analysis.lru import Walk, walk_pool
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.programs.published_order import PublishedChoice
from npuc.compiler.analysis.schedule.partition_knn import evaluate, labels
from npuc.compiler.report import Report
from npuc.dialects.npu.nest import Loop, Schedule, Statement
from npuc.studies.igo.claims import PremiseRow, step_rows
from npuc.studies.igo.cost import NOTHING
from npuc.studies.igo.explicit import ExplicitCosts
from npuc.studies.igo.lru import PAPER, PROTOTYPE, LruCosts
from npuc.studies.igo.networks import study_networks, workloads
from npuc.studies.igo.products import DW, DX, Size, fused_nest, nest_of
from npuc.studies.igo.settings import LARGE, SETTINGS, SMALL, STEPS, Setting, figures, published
from npuc.studies.igo.study import IgoResults, run_study
from npuc.studies.igo.times import ORDERS, layer_steps, scheme_costs
from npuc.studies.igo.view import print_study, to_csv, to_json
from tests.unit.analysis.test_lru_prototype import rows as prototype
from tests.widths import of_bytes

MODELS = ("ncf", "mob")
ORDER: dict[str, PublishedChoice] = {"inter": ORDERS[0], "dX": ORDERS[1], "dW": ORDERS[2]}


@cache
def study() -> IgoResults:
    """A small part of it: two networks on both NPUs and on two cores."""
    return run_study("lru", (LARGE, SMALL, Setting("large", cores=2)), MODELS)


def test_settings_are_those_of_the_paper() -> None:
    assert len(SETTINGS) == 9
    assert [s.cores for s in SETTINGS if s.npu == "large" and s.cores > 1] == [2, 4, 8]
    assert LARGE.machine.bytes_per_cycle == Fraction(150_000, 1050)
    assert SMALL.machine.spm_bytes == 512 << 10
    assert Setting("large", cores=4).machine.channel == 4 * LARGE.machine.channel


def test_rows_are_those_of_the_contract() -> None:
    data = json.loads(to_json(study()))
    assert (data["schema"], data["study"]) == ("npuc.study/1", "igo")
    assert [line["ours"] for line in data["lines"]] == [line.ours for line in study().lines]
    assert len(data["rows"]) == 3 * len(STEPS) * (len(MODELS) + 1)
    keys = ["npu", "cores", "gb_per_s", "batch", "step", "model", "ours", "published"]
    assert all(list(row) == keys for row in data["rows"])
    assert [row["model"] for row in data["rows"][:3]] == [*MODELS, "avg"]
    assert data["rows"][1] | {"ours": 0} == {
        **{"npu": "large", "cores": 1, "gb_per_s": 150.0, "batch": 8, "step": "interleaving", "model": "mob"},
        **{"ours": 0, "published": 0.9073},
    }
    assert len(to_csv(study()).splitlines()) == 1 + len(data["rows"])


def text_of(found: IgoResults, width: int) -> str:
    """The study as a terminal of that width shows it."""
    stream = StringIO()
    print_study(found, Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit(width: int) -> None:
    lines = text_of(study(), width).splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.startswith(" + partitioning ") and len(line.split()) > 2 for line in lines)


def test_the_predictor_is_reported_for_every_chip() -> None:
    """Accuracy and excess time, as `evaluate` says, in JSON and in the table."""
    data = json.loads(to_json(study()))
    assert [(row["npu"], row["cores"]) for row in data["predictor"]] == [("large", 1), ("small", 1), ("large", 2)]
    lines = text_of(study(), 200).splitlines()
    for row in data["predictor"]:
        found = evaluate(labels(row["npu"], row["cores"]))
        assert (row["accuracy"], row["regret"]) == (found.accuracy, found.regret)
        numbers = f"{100 * found.accuracy:.1f}", f"{100 * found.regret:.1f}", f"{found.predicted:.3f}"
        (line,) = [line.split() for line in lines if line.startswith(f" {row['npu']}, {row['cores']}  ")]
        assert tuple(line[2:5]) == numbers


def test_means_are_arithmetic() -> None:
    for setting in (LARGE, SMALL):
        for step in STEPS:
            rows = study().of(setting, step)
            assert rows["avg"].ours == pytest.approx(sum(rows[m].ours for m in MODELS) / 2, rel=1e-12)


def test_choices_of_the_best_are_no_worse() -> None:
    for setting in (LARGE, SMALL, Setting("large", cores=2)):
        for model in MODELS:
            step = {name: study().of(setting, name)[model].ours for name in STEPS}
            assert (
                step["data_partitioning"] <= step["best_of_three"] <= min(step["interleaving"], step["rearrangement"])
            )


@pytest.mark.parametrize(
    ("setting", "step", "model", "expected"),
    [
        (LARGE, "rearrangement", "bert", 0.9557),
        (SMALL, "data_partitioning", "avg", 0.7068),
        (SMALL, "best_of_three", "avg", 0.749),
        (LARGE, "best_of_three", "goo", None),
        (LARGE, "interleaving", "yolo", None),
        (Setting("large", cores=4), "data_partitioning", "res", 0.7519),
        (Setting("large", cores=4), "interleaving", "res", None),
        (Setting("large", gb_per_s=37.5), "data_partitioning", "mob", 0.7299),
        (Setting("large", batch=32), "data_partitioning", "goo", 0.8698),
    ],
)
def test_published_numbers(setting: Setting, step: str, model: str, expected: float | None) -> None:
    assert published(setting, step, model) == expected


@cache
def lines() -> Mapping[tuple[str, Size], Mapping[str, str]]:
    """The prototype's cycles by machine, layer and order; `part` for the best partition."""
    found: dict[tuple[str, Size], dict[str, str]] = {}
    for row in prototype():
        if row["tile_mode"] == "third":
            size = Size(int(row["M"]), int(row["N"]), int(row["K"]))
            found.setdefault((row["npu"], size), {})["part" if row["part_dim"] else row["order"]] = row["cycles"]
    return found


@pytest.mark.parametrize("setting", [LARGE, SMALL], ids=lambda setting: setting.npu)
def test_programs_are_the_prototypes(setting: Setting) -> None:
    costs = LruCosts(setting.machine)
    chosen = {size: cycles for (npu, size), cycles in lines().items() if npu == setting.npu}
    assert len(chosen) > 20
    for size, cycles in chosen.items():
        assert f"{float(costs.sequential(size).time):.1f}" == cycles["base"]
        for order, name in ORDER.items():
            assert f"{float(costs.together(size, name).time):.1f}" == cycles[order]
        if size.m * size.n * size.k < 1 << 28 and "part" in cycles:
            assert f"{float(min(cost.time for cost in scheme_costs(costs, size).values())):.1f}" == cycles["part"]


@pytest.mark.parametrize("setting", [LARGE, SMALL], ids=lambda setting: setting.npu)
def test_the_papers_assumptions_give_its_signs_and_order(setting: Setting) -> None:
    """Every step gains on both NPUs, and no less than the one before it."""
    found = run_study("paper", (setting,), MODELS)
    steps = [found.of(setting, step)["avg"].ours for step in STEPS]
    assert 1 > steps[0] > steps[1] >= steps[2] > steps[3]


def test_the_cost_of_a_program_counts_what_moves() -> None:
    """With everything on chip both gradients read X, W and dY once, and the sequential program dY twice."""
    size, bits = Size(64, 32, 48), 16
    x, w, dy = (bits * a * b for a, b in ((size.m, size.k), (size.k, size.n), (size.m, size.n)))
    paper, explicit = LruCosts(LARGE.machine, PAPER), ExplicitCosts(LARGE.machine)
    for costs in (paper, explicit):
        apart, together = costs.sequential(size), costs.together(size, "dX-major")
        assert (apart.read, apart.written, apart.dy_read) == (x + w + 2 * dy, x + w, 2 * dy)
        assert (together.read, together.written, together.dy_read) == (x + w + dy, x + w, dy)
    assert paper.together(size, "in turn").moved == paper.together(size, "dX-major").moved
    kept = LruCosts(LARGE.machine).sequential(size)
    assert kept.dy_read == dy, "the pool of the prototype still has dY when dW begins"


def claims_of(found: IgoResults) -> dict[tuple[str, str, str], PremiseRow]:
    return {(row.claim, row.npu, row.model): row for row in found.claims}


def test_claims_are_set_beside_the_papers() -> None:
    """Shares of dY come from the costs of the layers; the published numbers are those of its figures and text."""
    found = claims_of(study())
    costs = LruCosts(LARGE.machine)
    layers = [(p, Size(p.m, p.n, p.k)) for p in workloads()["large", "mob"]]
    total = NOTHING
    for product, size in layers:
        total += (costs.sequential(size) if product.has_dx else costs.weights(size)) * product.count
    row = found["dY's share of all their traffic", "large", "mob"]
    assert (row.ours, row.published) == (float(total.dy_read / total.moved), 0.5045)
    assert found["dY's share of the bytes that gradients read", "large", "avg"].published == 0.5136
    backward = found["backward's share of forward and backward", "small", "avg"]
    assert backward.published == pytest.approx(0.565 / 0.841)
    assert 0.5 < backward.ours < 0.8
    assert backward.reproduced is (abs(backward.ours - 0.565 / 0.841) <= 0.0565 / 0.841)


def test_saved_time_is_set_beside_saved_traffic() -> None:
    """Over networks, from the rows of times and of traffic; over layers beside the paper's twelve."""
    found = run_study("lru", (LARGE, SMALL), ("ncf", "mob", "res"))
    points = [
        (1 - row.ours, 1 - found.of(setting, row.step)[row.model].ours)
        for setting in (LARGE, SMALL)
        for row in found.traffic
        if (row.npu, row.step) == (setting.npu, STEPS[-1]) and row.model != "avg"
    ]
    assert len(points) == 6
    rows = claims_of(found)
    name = "correlation of saved time with saved traffic, over "
    assert rows[name + "networks", "both", "avg"].ours == pytest.approx(correlation(*zip(*points, strict=True)))
    layers = rows[name + "layers, by the published rule", "large", "avg"]
    bars = figures()["fig13_large_rearrangement_by_layer"]
    times = [bars["norm_exec_time"][layer] for layer in bars["dram_traffic"]]
    assert layers.published == pytest.approx(correlation(list(bars["dram_traffic"].values()), times))
    assert -1 <= layers.ours <= 1


def test_backward_in_a_whole_step_is_measured_by_the_backend() -> None:
    (networks,) = ([n for n in study_networks() if (n.npu, n.model) == ("large", "ncf")],)
    one, mean = step_rows(networks)
    report = compile_file(
        "samples:ncf", backend="cycle", hardware="igo-large", opt_level=0, tolerance=0.0, defines={"batch": 8192}
    )
    assert isinstance(report, Report)
    seconds = {phase: time or 0 for phase, time in report.totals.seconds_by_phase.items()}
    backward = sum(seconds[phase] for phase in ("dx", "dw", "dxdw")) / sum(seconds.values())
    assert one.ours == mean.ours == pytest.approx(backward)
    assert (one.published, mean.published) == (None, 0.565)


def test_what_the_papers_assumptions_are() -> None:
    """The two products beside the prototype's: tiles, order, pool, and what dW finds."""
    size = Size(3136, 256, 640)
    lru, paper = (LruCosts(SMALL.machine, assumptions) for assumptions in (PROTOTYPE, PAPER))
    assert lru.tile(size) == {"m": 135, "n": 135, "k": 135}
    assert paper.tile(size) == {"m": 90, "n": 90, "k": 90}
    assert paper.pool.spm_bytes == 2 * lru.pool.spm_bytes == 1 << 20

    def alone(nest: Statement, order: str) -> Walk:
        steps = tuple(Loop(d, 90) for d in order)
        return Walk(nest_of(size, nest), Schedule(steps), of_bytes(nest_of(size, nest), 2))

    dx, dw = (walk_pool((walk,), paper.pool).time for walk in (alone(DX, "kmn"), alone(DW, "knm")))
    assert paper.sequential(size).time == dx + dw
    assert paper.weights(size).time == dw


def test_no_program_beats_the_floor() -> None:
    for setting in (SMALL, Setting("large", cores=2)):
        costs = LruCosts(setting.machine)
        for size in (Size(784, 128, 256), Size(64, 1000, 512), Size(3136, 64, 64)):
            times = layer_steps(costs, size, has_dx=True)
            assert costs.floor(size) <= min(times.data_partitioning.time, times.sequential.time)


def test_a_first_layer_stays_as_it_is() -> None:
    times = layer_steps(LruCosts(SMALL.machine), Size(784, 64, 147), has_dx=False)
    assert {times.step(step) for step in STEPS} == {times.step("sequential")}


def test_cores_add_to_one_sum() -> None:
    """With room for all, two cores with half of the rows each move what one moves: the sum dW once, W once."""
    machine = LARGE.machine
    steps = (Loop("m", 128), Loop("k", 128), Loop("n", 128))

    def walk(nest_size: Size, core: int) -> Walk:
        nest = fused_nest(nest_size)
        values = tuple((name, core if "m" in t.dims else 0) for name, t in nest.tensors.items())
        return Walk(nest, Schedule(steps), of_bytes(nest, 2), values)

    one = walk_pool((walk(Size(512, 256, 384), 0),), machine)
    two = walk_pool((walk(Size(256, 256, 384), 0), walk(Size(256, 256, 384), 1)), machine, "round-robin")
    assert sum(w.moved for w in two.walks) == sum(w.moved for w in one.walks)
    written = [dict(w.tensors)["dW"].write for w in two.walks]
    assert sum(written) == 256 * 384
    assert two.compute == one.compute


def test_sums_in_different_tiles_are_refused() -> None:
    machine: Machine = LARGE.machine
    nest = nest_of(Size(256, 256, 256), DX)
    walks = tuple(Walk(nest, Schedule((Loop("m", step),)), of_bytes(nest, 2)) for step in (128, 64))
    with pytest.raises(ValueError, match="dX is the sum of two walks in different"):
        walk_pool(walks, machine, "round-robin")


def test_equal_runs_are_equal_bytes() -> None:
    again = run_study("lru", (LARGE,), ("ncf",))
    assert to_json(again) == to_json(run_study("lru", (LARGE,), ("ncf",)))
    assert "ncf" in text_of(again, 80)


@cache
def explicit() -> IgoResults:
    """A small network on the own machine, on one core and on two."""
    return run_study("explicit", (LARGE, Setting("large", cores=2)), ("ncf",))


def test_lines_say_what_the_gain_is_made_of() -> None:
    """Over the same sequential program, on the machine where every program has its own best tiles."""
    line = {found.program: found.ours for found in explicit().lines if found.model == "ncf"}
    assert line["blocking"] == 1
    assert line["one nest"] <= line["dY kept"] <= line["blocking"]
    assert line["dY free"] < 1
    assert line["guarded"] <= min(1, explicit().of(LARGE, "data_partitioning")["ncf"].ours)
    means = [found.ours for found in explicit().lines if found.model == "avg"]
    assert means == [found.ours for found in explicit().lines if found.model == "ncf"]


def test_the_own_machine_gains_by_one_nest_too() -> None:
    for setting in (LARGE, Setting("large", cores=2)):
        step = {name: explicit().of(setting, name)["ncf"].ours for name in STEPS}
        assert step["data_partitioning"] <= step["best_of_three"] <= min(step["interleaving"], step["rearrangement"])
        assert step["best_of_three"] < 0.95


def test_means_have_the_papers_order_on_the_large_npu() -> None:
    step = [study().of(LARGE, name)["avg"].ours for name in STEPS]
    assert step == sorted(step, reverse=True)
    assert step[0] < 1
