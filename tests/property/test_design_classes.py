"""Classes of flexibility in a design: more choice is never worse, and each design is of its class."""

from functools import cache, partial
from itertools import product
from math import ceil, inf, prod

import numpy as np
import pytest

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.analysis.mapping.flexibility.axes import class_of, classes, is_within
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.design.budget import Budget, area_model
from npuc.compiler.explore.design.classes import CUTS, DataflowExpression, class_space, classes_named
from npuc.compiler.explore.design.clusters import clusters_of
from npuc.compiler.explore.design.costs import Needs, needs_of
from npuc.compiler.explore.design.energy import access_energy
from npuc.compiler.explore.design.explore import Course, Searched, explore
from npuc.compiler.explore.design.goal import Goal, GoalName
from npuc.compiler.explore.design.machine_file import designed
from npuc.compiler.explore.design.scored import designed_machines
from npuc.compiler.explore.design.task import DesignTask, task_of
from npuc.compiler.explore.flexibility.machine import flexible_machine
from npuc.compiler.explore.mapping.mappers.random import RandomGenomes
from npuc.compiler.explore.seeds import generator
from npuc.dialects.mapping import shared_mapping
from npuc.dialects.npu import ContractOp
from npuc.frontends.source import text_source
from npuc.hardware import Hardware
from tests.unit.mapping.texts import clusters_of as read_clusters

NET = """\
network small(batch=2) {
  input x: f32[batch, 6, 9, 9]
  labels y: i32[batch]
  h = relu(conv2d(x, 8, 3, stride=2))
  g = relu(conv2d(h, 8, 3, padding=1, groups=8))
  logits = linear(flatten(g), 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
ALL = classes_named("any")
DATAFLOWS = ("kcp_ws", "rs", "yxp_os", "xp_ws")


@cache
def task(dataflow: str, hardware: str = "nvdla") -> tuple[DesignTask, Hardware]:
    keys = {"technology.model": "gamma-int8", "maestro.mapping": dataflow}
    source = text_source(NET, "dsl", "small.dsl")
    module, machine = lowered_module(
        source, get_backend("maestro"), {"hardware": hardware, "overrides": keys}, print, []
    )
    return task_of(module, machine, 2, divisors=True, dataflow=dataflow), machine


def searched(dataflow: str, goal: GoalName, budget: int, seed: int, area: float, names: str = "any") -> Searched:
    one, machine = task(dataflow)
    limit = Budget(area_model(machine, float(one.width)), area)
    course = Course(budget, seed, lambda count: None)
    return explore(one, limit, access_energy(machine), [Goal(goal)], course, area=False, classes=classes_named(names))


def test_classes_are_named_by_their_bits() -> None:
    assert set(ALL) == set(classes())
    for number, inner in enumerate(ALL):
        assert not any(is_within(other, inner) for other in ALL[number + 1 :])
    assert [class_of(one) for one in classes_named("1111, 0000,0000")] == ["0000", "1111"]
    for text in ("2", "111", "all", "", "1111,"):
        with pytest.raises(UsageError, match="four bits"):
            classes_named(text)


def test_equal_contractions_with_different_mappings_are_fixed_each_to_its_own() -> None:
    text = "network n(batch=4) {\n  input x: f32[batch, 8]\n  output y = linear(relu(linear(x, 8)), 8)\n}\n"
    asked: CompileKeywords = {"inference": True, "overrides": {"technology.model": "gamma-int8"}}
    module, machine = lowered_module(text_source(text, "dsl", "n.dsl"), get_backend("maestro"), asked, print, [])
    alike = task_of(module, machine, 2, divisors=True, dataflow="kcp_ws")
    assert [work.repeat for work in alike.works] == [2]
    _, second = (op for op in module.walk() if isinstance(op, ContractOp))
    second.mapping_attr = shared_mapping(read_clusters("4 [n : 8 / 2, k : 8, m : 1], 8 [k : 8 / 1]"))
    found = task_of(module, machine, 2, divisors=True, dataflow="kcp_ws")
    assert found.numbers == (0, 1)
    assert (found.owns[0].shape, found.owns[1].shape) == (alike.owns[0].shape, (4, 8))
    assert len(task_of(module, machine, 2, divisors=True).works) == 1


@pytest.mark.parametrize("dataflow", DATAFLOWS)
@pytest.mark.parametrize(("goal", "budget", "seed", "area"), [("time", 900, 0, 0.2), ("edp", 3000, 1, 0.05)])
def test_more_choice_is_never_worse(dataflow: str, goal: GoalName, budget: int, seed: int, area: float) -> None:
    found = searched(dataflow, goal, budget, seed, area)
    best = {one.supports: Goal(goal).key(one.design) for one in found.designs}
    assert len(best) > 8
    for inner, outer in product(best, ALL):
        if is_within(inner, outer):
            assert best[outer] <= best[inner]
    assert [one[0] for one in best.values()] == sorted(one[0] for one in best.values())
    assert all(one.design.area_mm2 <= area for one in found.designs)
    assert found.bound <= min(one.design.cycles for one in found.designs)


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_a_design_is_of_its_class_and_the_backend_confirms_it(dataflow: str) -> None:
    one, machine = task(dataflow)
    found = searched(dataflow, "time", 3000, 0, 0.2)
    # the backend has the same cycles, or this raises
    scored = designed_machines(one, machine, found)
    assert [row.flexible for row in scored] == [class_of(design.supports) for design in found.designs]
    for design in found.designs:
        hardware = designed(machine, design.design.size, design.supports)
        assert flexible_machine(hardware).supports == design.supports
        tiles, order, parallel, shape = design.supports
        for own, mapping, space in zip(one.owns, design.mappings, one.spaces, strict=True):
            candidates, size = mapping.candidates, design.design.size
            assert candidates.fanouts.prod() <= size.elements
            if shape == "fixed":
                assert (candidates.fanouts[:, 0] <= size.fanouts).all()
            given = np.array([float(count) for _, count in space.dims])
            for level, wired, places, loops in zip(candidates.levels, own.tiles, own.spread, own.orders, strict=True):
                spatial, temporal = level.spatial[:, 0], level.temporal[:, 0]
                if tiles == "fixed":
                    assert (spatial <= wired).all()
                if parallel == "fixed":
                    assert set(np.flatnonzero(spatial < temporal)) <= set(places)
                if order == "fixed":
                    moving = partial(several, given, temporal)
                    assert moving(level.order[:, 0]) == moving(loops)
                given = spatial


def several(given: Floats, step: Floats, loops: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> list[int]:
    """The loops with several steps, in order."""
    return [int(at) for at in loops if step[at] < given[at]]


@pytest.mark.parametrize("names", ["0000", "0001", "0110", "1110", "1111"])
def test_one_class_alone(names: str) -> None:
    found = searched("kcp_ws", "time", 1500, 0, 0.2, names)
    assert [class_of(one.supports) for one in found.designs] == [names]
    again = searched("kcp_ws", "time", 1500, 0, 0.2, names)
    assert again.designs[0].design == found.designs[0].design
    assert found.bound <= found.designs[0].design.cycles


def test_free_mappings_on_fixed_clusters_are_what_a_design_has_by_itself() -> None:
    one, machine = task("kcp_ws")
    limit = Budget(area_model(machine, float(one.width)), 0.2)
    course = Course(1500, 0, lambda count: None)
    plain = explore(one, limit, access_energy(machine), [Goal("time")], course, area=False)
    classed = explore(one, limit, access_energy(machine), [Goal("time")], course, area=False, classes=[ALL[-2]])
    assert class_of(ALL[-2]) == "1110"
    assert plain.designs[0].design == classed.designs[0].design


def test_a_wired_machine_is_the_best_of_all_clusters() -> None:
    """No clusters with the dataflow's own mappings, whole, are faster within the area."""
    one, machine = task("kcp_ws")
    limit = Budget(area_model(machine, float(one.width)), 0.002)
    found = searched("kcp_ws", "time", 8_000, 0, limit.limit_mm2, "0000").designs[0]
    least, energy, supports = inf, access_energy(machine), found.supports
    for fanouts in clusters_of(limit.most_elements(12), 2):
        needs: list[list[Needs]] = []
        for work, space, own in zip(one.works, one.spaces, one.owns, strict=True):
            here = class_space(space, fanouts, supports)
            genomes = RandomGenomes(here, generator(0)).draw(CUTS)
            genomes.chosen[...] = np.arange(CUTS)
            candidates = DataflowExpression(here, None, supports, own).candidates(genomes)
            need = needs_of(work, candidates, energy, buffered=False)
            needs.append([need.at(np.array([row])) for row in range(CUTS)])
        for chosen in product(*needs):
            l1, l2 = (max(float(getattr(need, name)[0]) for need in chosen) for name in ("l1", "l2"))
            if l1 < inf and limit.area_mm2(prod(fanouts), ceil(l1), ceil(l2)) <= limit.limit_mm2:
                least = min(least, sum(w.repeat * float(n.cycles[0]) for w, n in zip(one.works, chosen, strict=True)))
    assert least < inf
    assert found.design.cycles <= least
