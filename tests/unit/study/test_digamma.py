"""The study of co-search: points are machines that a compilation confirms, rows, records, and its command."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.design.budget import Budget, area_model
from npuc.compiler.explore.design.combine import MachineSize
from npuc.compiler.explore.design.energy import access_energy
from npuc.compiler.explore.design.explore import Searched
from npuc.compiler.explore.design.scored import designed_machines
from npuc.compiler.explore.design.task import DesignTask, task_of
from npuc.compiler.explore.mapping.capacity import BufferCapacity, Drawn, cut_to_fit, cut_to_sizes
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.compiler.explore.seeds import generator
from npuc.frontends.source import open_source
from npuc.hardware import Hardware
from npuc.studies.base import Asked
from npuc.studies.digamma import study
from npuc.studies.digamma.encoding import BROKEN, OVER, DesignCode
from npuc.studies.digamma.entry import STUDY
from npuc.studies.digamma.optimisers import POPULATION, Differential
from npuc.studies.digamma.settings import OURS, PUBLISHED, PUBLISHED_EVALUATIONS
from npuc.studies.digamma.study import METHODS, DesignRow, gains, lowered_step, optimised, plan_points, run_study
from npuc.studies.digamma.view import to_csv, to_json

NET = """network two(batch = 8) {
  input x: f32[batch, 6, 7, 7]
  labels t: i32[batch]
  c = conv2d(x, 10, kernel=3, padding=1)
  loss cross_entropy(linear(global_avg_pool(relu(c)), 10), t)
  optimizer sgd(lr=0.1)
}
"""
AREAS = (0.0004, 0.02, 0.2)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> tuple[DesignTask, Hardware]:
    path = tmp_path_factory.mktemp("net") / "two.dsl"
    path.write_text(NET)
    overrides: dict[str, object] = {"technology.model": "gamma-int8"}
    backend = get_backend("maestro")
    module, machine = lowered_module(open_source(str(path)), backend, {"overrides": overrides}, print, [])
    return task_of(module, machine, 2, divisors=True), machine


def code_of(task: tuple[DesignTask, Hardware], area: float) -> DesignCode:
    own, machine = task
    return DesignCode(own, Budget(area_model(machine, float(own.width)), area), access_energy(machine))


@pytest.mark.parametrize("area", AREAS)
def test_points_are_machines_that_the_backend_confirms(task: tuple[DesignTask, Hardware], area: float) -> None:
    """Any real numbers are one, or say how far they are from one."""
    code = code_of(task, area)
    points = code.evaluate(generator(1, "points").normal(0.5, 1.0, (code.size, 40)))
    found = [point for row in range(40) if (point := points.design(row)) is not None]
    assert len(found) == (points.values < OVER).sum()
    assert len(found) > (0 if area == AREAS[0] else 30)
    for one in found:
        assert one.design.area_mm2 <= area
        (scored,) = designed_machines(task[0], task[1], Searched((one,), 1, 0.0, ()))
        assert scored.cycles == one.design.cycles  # asserted there, too
        assert scored.energy == pytest.approx(one.design.energy, rel=1e-9)
        needs = [mapping.needs for mapping in one.mappings]
        l1, l2 = (int(max(np.ceil(getattr(need, name)[0]) for need in needs)) for name in ("l1", "l2"))
        assert one.design.size == MachineSize(scored.clusters, l1, l2)
    rows = np.flatnonzero(points.values < OVER)
    assert np.allclose(points.values[rows], np.log(points.cycles[rows]))
    worse = points.values[(points.values >= OVER) & (points.values < BROKEN)]
    assert np.allclose(worse, OVER + np.log(points.area_mm2[(points.values >= OVER) & (points.values < BROKEN)] / area))


def test_a_contraction_that_runs_several_times_counts_as_often(tmp_path: Path) -> None:
    """Of cycles and of energy, as the backend counts them."""
    layers = "relu(linear(relu(linear(relu(linear(x, 12)), 12)), 12))"
    (tmp_path / "three.dsl").write_text(
        f"network three(batch = 8) {{\n  input x: f32[batch, 12]\n  output y = {layers}\n}}\n"
    )
    overrides: dict[str, object] = {"technology.model": "gamma-int8"}
    options: CompileKeywords = {"overrides": overrides, "inference": True}
    module, machine = lowered_module(
        open_source(str(tmp_path / "three.dsl")), get_backend("maestro"), options, None, []
    )
    task = task_of(module, machine, 2, divisors=True)
    assert [work.repeat for work in task.works] == [3]
    code = code_of((task, machine), 0.02)
    points = code.evaluate(generator(1, "points").random((code.size, 5)))
    for row in range(5):
        found = points.design(row)
        assert found is not None
        (scored,) = designed_machines(task, machine, Searched((found,), 1, 0.0, ()))
        assert (scored.cycles, scored.energy) == (found.design.cycles, pytest.approx(found.design.energy, rel=1e-9))


def test_differential_evolution_moves_a_point_by_three_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points along an axis each, so that what is taken of them is seen; all of the moved point is taken."""
    monkeypatch.setattr(Differential, "CROSSOVER", 1.0)
    count = POPULATION
    for seed in range(20):
        one = Differential(count, generator(seed, "points"))
        first = one.ask()
        one.tell(np.zeros(count))
        first[:] = np.eye(count)
        one.tell(np.zeros(count))
        moved = one.ask()
        assert (np.diag(moved) == 0).all()
        assert (np.sort(moved, axis=0)[[0, -2, -1]] == [[-0.5], [0.5], [1.0]]).all()
        assert (np.count_nonzero(moved, axis=0) == 3).all()


def test_a_point_alone_is_worth_what_it_is_among_others(task: tuple[DesignTask, Hardware]) -> None:
    code = code_of(task, 0.05)
    vectors = generator(2, "points").random((code.size, 12))
    together = code.evaluate(vectors)
    for row in range(12):
        alone = code.evaluate(vectors[:, [row]])
        assert (alone.values[0], alone.energy[0]) == (together.values[row], together.energy[row])


@given(st.integers(0, 999), st.integers(1, 9), st.booleans(), st.booleans())
def test_tiles_are_cut_to_buffers_of_each_mapping(seed: int, count: int, with_l1: bool, with_l2: bool) -> None:
    from npuc.compiler.analysis.mapping.exact.contraction import contraction_of
    from npuc.dialects.mapping import Problem

    work = contraction_of(Problem("GEMM", (("M", 12), ("N", 8), ("K", 6))))
    space = MapSpace(work.dims, ((4, 2),))
    random = np.random.default_rng(seed)
    genomes = RandomGenomes(space, random).draw(count)
    whole = np.repeat(np.array([[float(size)] for _, size in space.dims]), count, axis=1)
    widths = random.integers(1, 4, whole.shape).astype(float)
    sizes = [random.integers(6, 200, count).astype(float) if used else None for used in (with_l1, with_l2)]

    def drawn(rows: list[int]) -> Drawn:
        tiles = [tile[:, rows].copy() for tile in genomes.tiles]
        orders = [order[:, rows] for order in genomes.orders]
        return Drawn(tiles, orders, widths[:, rows], whole[:, rows], np.ones((3, len(rows))))

    together = drawn(list(range(count)))
    cut_to_sizes(BufferCapacity((work,)), sizes[0], sizes[1], together)
    for row in range(count):
        alone = drawn([row])
        l1, l2 = (None if size is None else int(size[row]) for size in sizes)
        cut_to_fit(BufferCapacity((work,), l1, l2), alone)
        for tile, other in zip(alone.tiles, together.tiles, strict=True):
            assert (tile[:, 0] == other[:, row]).all()


def test_more_evaluations_are_never_worse(task: tuple[DesignTask, Hardware]) -> None:
    """Each optimiser's points are those of a shorter search, then others."""
    pytest.importorskip("cmaes")
    code = code_of(task, 0.02)
    for method in METHODS[:-1]:
        found = [optimised(code, method, count) for count in (30, 130, 400)]
        cycles = [one.design.cycles for one in found if one is not None]
        assert len(cycles) == 3
        assert cycles == sorted(cycles, reverse=True)


def row(method: str, cycles: int, network: str = "n", budget: str = "edge", step: str = "inference") -> DesignRow:
    return DesignRow(network, step, budget, 0.2, method, 9, cycles, 1.0, 0.1, 1, 1, 1, 1)


def test_gains_are_over_the_best_other_optimiser() -> None:
    cycles: Mapping[str, int] = {"random": 900, "genetic": 800, "pso": 700, "(1+1)-es": 600, "de": 400, "cma-es": 500}
    designs = [row(method, count) for method, count in cycles.items()] + [row(OURS, 100)]
    designs += [row(method, 100, "m") for method in METHODS]
    one, other, mean = gains(designs)
    assert (one.ours, one.note, other.ours) == (4.0, "de", 1.0)
    assert mean.ours == pytest.approx(2.0)
    assert (mean.published, mean.reproduced) == (PUBLISHED["edge"], None)
    many = [replace(one, evaluations=PUBLISHED_EVALUATIONS) for one in designs]
    *_, mean = gains(many)
    assert mean.reproduced is False
    *_, mean = gains([row(method, 100, "m", step="training") for method in METHODS])
    assert (mean.published, mean.reproduced) == (None, None)


def alike(point: study.SearchCase) -> Floats:
    """A design of any search, found at once."""
    return np.array([9.0, 1.0, 0.1, 1.0, 1.0, 1.0, 1.0])


def test_an_interrupted_study_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("cmaes")
    (tmp_path / "two.dsl").write_text(NET)
    points = plan_points(("training",), [str(tmp_path / "two.dsl")], 0.01, 40, None)
    whole = run_study("training", points, lambda name, count: None, 1, None)
    record, own, done = str(tmp_path / "r.rec"), study.best_of, list[str]()

    def some(point: study.SearchCase) -> object:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(point.method)
        return own(point)

    with monkeypatch.context() as patch:
        patch.setattr(study, "best_of", some)
        with pytest.raises(KeyboardInterrupt):
            run_study("training", points, lambda name, count: None, 1, record)
    counts: list[int] = []
    assert run_study("training", points, lambda name, count: counts.append(count), 1, record) == whole
    assert counts == [3, 1, 1, 1, 1]
    assert json.loads(to_json(whole))["rows"][0]["ours"] == whole.rows[0].ours
    assert to_csv(whole).splitlines()[0].startswith("claim,setting,published,ours")
    other = plan_points(("training",), [str(tmp_path / "two.dsl")], 0.01, 41, None)
    with pytest.raises(UsageError, match="was begun with another network, machine"):
        run_study("training", other, lambda name, count: None, 1, record)


def test_a_record_is_of_what_files_say_not_of_their_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    net, machine, record = tmp_path / "two.dsl", tmp_path / "own.toml", str(tmp_path / "r.rec")
    monkeypatch.setattr(study, "cmaes_package", lambda: None)
    monkeypatch.setattr(study, "best_of", alike)
    net.write_text(NET)
    machine.write_text("clock_mhz = 500\n[maestro]\nnum_pes = 8\n")
    points = plan_points(("training",), [str(net)], 0.01, 40, str(machine))
    whole = run_study("training", points, lambda name, count: None, 1, record)
    assert run_study("training", points, lambda name, count: None, 1, record) == whole
    for path, old, new in ((net, "10, kernel", "11, kernel"), (machine, "500", "600")):
        before = path.read_text()
        path.write_text(before.replace(old, new))
        with pytest.raises(UsageError, match="was begun with another network, machine"):
            run_study("training", points, lambda name, count: None, 1, record)
        path.write_text(before)


def test_a_package_that_is_not_there_is_said_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def never(point: study.SearchCase) -> None:
        raise AssertionError(point)

    (tmp_path / "two.dsl").write_text(NET)
    monkeypatch.setitem(sys.modules, "cmaes", None)
    monkeypatch.setattr(study, "best_of", never)
    points = plan_points(("training",), [str(tmp_path / "two.dsl")], 0.01, 40, None)
    with pytest.raises(UsageError, match="cmaes, which is not installed"):
        run_study("training", points, lambda name, count: None, 1, None)


MACHINE = """name = "own"
[memory]
element_bytes = 1
[maestro]
num_pes = 8
"""
RULES = '[[constraints.rules]]\nlevel = 1\nspread = "K"\n'


def test_what_has_no_effect_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of lowering, of constraints, and of another formula of area; each once for both areas and all optimisers."""
    monkeypatch.setattr(study, "cmaes_package", lambda: None)
    monkeypatch.setattr(study, "best_of", alike)
    net, machine = tmp_path / "one.csv", tmp_path / "own.toml"
    net.write_text("conv1, 8, 8, 3, 3, 4, 6, 1,\n")

    def warnings(text: str) -> list[str]:
        machine.write_text(text)
        asked = Asked("training", [str(net)], hardware=str(machine), evaluations=9)
        return list(STUDY.plan(asked).run(lambda name, count: None).warnings)

    first = f"{net}, training: {net}:1: the first line is taken as a layer; SCALE-Sim skips it as the header"
    assert warnings(MACHINE) == [first]
    assert warnings(MACHINE + '[technology]\nmodel = "gamma-int8"\n') == [first]
    for some in (RULES, "[constraints]\ndivisors = true\n"):
        last, rules, model = warnings(MACHINE + '[technology]\nmodel = "maestro"\n' + some)
        assert rules.startswith("the constraints of own do not restrict the machines of the study")
        assert model.startswith("technology.model of own is not read: areas are by gamma-int8")
        assert last == first


def test_inference_has_batch_one_or_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(study, "cmaes_package", lambda: None)
    names = {"batch": "network n(batch = 8)", "b": "network n(b = 8)", "8": "network n()"}
    for name, head in names.items():
        path = tmp_path / "n.dsl"
        path.write_text(f"{head} {{\n  input x: f32[{name}, 6]\n  output y = linear(x, 4)\n}}\n")
        found: list[tuple[int, ...]] = []

        def noted(point: study.SearchCase, found: list[tuple[int, ...]] = found) -> Floats:
            (space,) = lowered_step(point.network, point.source, point.step, point.hardware).task.spaces
            found.append(tuple(size for _, size in space.dims))
            return alike(point)

        monkeypatch.setattr(study, "best_of", noted)
        points = plan_points(("inference",), [str(path)], 0.01, 9, None)
        said = run_study("inference", points, lambda name, count: None, 1, None).warnings
        assert sorted(found[0]) == ([1, 4, 6] if name == "batch" else [4, 6, 8])
        assert [text for text in said if "'batch'" in text] == (
            []
            if name == "batch"
            else [f"{path}, inference: the network has no parameter 'batch', so that its batch stays as it is, not 1"]
        )
