"""Choices and classes under constraints are those of brute force over all mappings of a small contraction."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import chain, permutations
from itertools import product as combinations

import numpy as np
import pytest

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.constraints.check import Bools, meets
from npuc.compiler.analysis.mapping.constraints.rules import MapRules
from npuc.compiler.analysis.mapping.exact.arrays import LevelTiles, level_tiles
from npuc.compiler.analysis.mapping.flexibility.axes import Supports, classes, is_within
from npuc.compiler.analysis.mapping.flexibility.choices import is_usable, keeps, kept_orders, shapes_of
from npuc.compiler.analysis.mapping.flexibility.flexion import workload_flexion
from npuc.compiler.analysis.mapping.flexibility.tiles import count_tiles
from npuc.compiler.core.options import CompileKeywords
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.flexibility.allowed import allowed_choices
from npuc.compiler.explore.flexibility.classes import ClassSearch
from npuc.compiler.explore.flexibility.find import FlexSearch
from npuc.compiler.explore.flexibility.machine import flexible_machine
from npuc.compiler.explore.flexibility.own import OwnMapping
from npuc.compiler.explore.flexibility.result import FlexSettings
from npuc.compiler.explore.mapping.best import Limits
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.constrained.demands import Demands
from npuc.compiler.explore.mapping.task import ExactTask
from npuc.dialects.mapping import Clusters
from npuc.frontends.source import text_source
from tests.unit.mapping.constrained import rules

ELEMENTS = 4
SIZES = {"m": 4, "n": 2, "k": 3}
Rows = tuple[Mapping[str, object], ...]
RULES: tuple[Rows, ...] = (
    ({"level": 1, "spread": "K", "must": "K"}, {"level": 2, "spread": "C"}),
    ({"level": 1, "tiles": "Y<=2 K=1"}, {"level": 2, "tiles": "C=1"}),
    ({"level": 1, "order": "K C Y"}, {"level": 2, "fanout": 2}),
    ({"order": "Y * K"}, {"level": 1, "tiles": "Y>=2", "spread": "Y C"}),
    ({"utilization": 1.0}, {"level": 1, "tiles": "C=all"}),
    ({"level": 1, "spread": "none", "tiles": "Y=2"}, {"level": 2, "must": "Y"}),
    ({"level": 2, "order": "C Y K", "spread": "K Y"}, {"level": 1, "utilization": 0.5}),
)


KEYS = {"maestro.num_pes": ELEMENTS, "maestro.l2_size": 40, "maestro.l1_size": 14, "maestro.mapping": "kcp_ws"}


def searched(found: MapRules) -> FlexSearch:
    text = "layer,M,N,K\na," + ",".join(map(str, SIZES.values())) + "\n"
    keys: CompileKeywords = {"hardware": "maestro-example", "overrides": KEYS, "inference": True}
    module, machine = lowered_module(text_source(text, "csv", "a.csv"), get_backend("maestro"), keys, print, [])
    settings = FlexSettings("time", 1, 0, None)
    return FlexSearch(module, machine, flexible_machine(machine), settings, demands=Demands(found))


def cut(size: int) -> list[tuple[int, int]]:
    return [(outer, inner) for outer in range(1, size + 1) for inner in range(1, outer + 1)]


@cache
def everything() -> Candidates:
    """All mappings of rows and columns, each of which share one dimension or none, not the same one."""
    tiles = np.array(list(combinations(*map(cut, SIZES.values()))))  # [mapping, dimension, level]
    orders = list(permutations(range(3)))
    places = [(a, b) for a, b in combinations((-1, 0, 1, 2), repeat=2) if a != b or a == -1]
    rest = list(combinations(shapes_of(ELEMENTS), places, orders, orders))
    fanouts, spread = (np.tile(np.array([one[at] for one in rest]).T, len(tiles)) for at in (0, 1))
    given, levels = np.array([[float(size)] for size in SIZES.values()]), list[LevelTiles]()
    for level in (0, 1):
        spatial = np.repeat(tiles[:, :, level].T, len(rest), axis=1).astype(float)
        order = np.tile(np.array([one[2 + level] for one in rest]).T, len(tiles))
        wide = np.where(np.arange(3)[:, None] == spread[level], fanouts[level], 1)
        levels.append(level_tiles(np.minimum(spatial * wide, given), spatial, order))
        given = spatial
    return Candidates(fanouts, tuple(levels))


def allowed(task: ExactTask) -> Bools:
    """Which of all mappings meet the constraints."""
    space, every = task.space, everything()
    assert space.constraints is not None
    return meets(space.constraints, every.fanouts, every.levels, list(SIZES.values()), divides=space.divisors)


@pytest.mark.parametrize("rows", RULES)
def test_tiles_that_constraints_leave_are_those_of_mappings(rows: Rows) -> None:
    (one,) = searched(rules(*rows)).prepared
    found = allowed_choices(one.choices, one.task.space)
    assert found is not None
    parts = found.tiles or (tuple(range(1, size + 1) for size in SIZES.values()),)
    listed = [*chain(*(combinations(*part) for part in parts))]
    assert len(listed) == len(set(listed))
    steps = everything().levels[0].temporal[:, allowed(one.task)]
    known = {tuple(map(int, step)) for step in np.unique(steps, axis=1).T}
    if any("utilization" in row for row in rows):  # which is counted of shapes
        assert known <= set(listed)
    else:
        assert known == set(listed)
    buffer = one.choices.buffer
    counts = [count_tiles(buffer, SIZES, among=part) for part in parts]
    soft, hard = sum(part.soft.value for part in counts), sum(part.in_parts.value for part in counts)
    for in_parts, count in ((False, soft), (True, hard)):
        held = [step for step in listed if buffer.holds(dict(zip(SIZES, step, strict=True)), hard=in_parts)]
        assert round(count) == len(held)


@pytest.mark.parametrize("rows", RULES)
def test_pairs_and_shapes_that_constraints_leave_are_those_of_mappings(rows: Rows) -> None:
    """Of pairs that have work for all rows and columns, whose mappings have a spread dimension at both levels."""
    (one,) = searched(rules(*rows)).prepared
    found, every, names = allowed_choices(one.choices, one.task.space), everything(), list(SIZES)
    assert found is not None
    spread = np.array([level.spatial < level.temporal for level in every.levels])[:, :, allowed(one.task)]
    fanouts = every.fanouts[:, allowed(one.task)]
    known = {
        (((names[a],), (names[b],)), (int(shape[0]), int(shape[1])))
        for shape, outer, inner in zip(fanouts.T, spread[0].T, spread[1].T, strict=True)
        for a, b in combinations(np.flatnonzero(outer), np.flatnonzero(inner))
    }
    square = {place for place in known if place[1] == (2, 2)}  # on which both levels spread something
    usable = {place for place in found.places if place[1] == (2, 2) and is_usable(*place, SIZES)}
    assert square <= found.places
    if not any("tiles" in row for row in rows):
        assert square == usable


@pytest.mark.parametrize("rows", RULES)
def test_orders_that_constraints_leave(rows: Rows) -> None:
    (one,) = searched(rules(*rows)).prepared
    found = allowed_choices(one.choices, one.task.space)
    assert found is not None
    orders = [order for order in permutations(SIZES) if keeps(order, found.before, SIZES)]
    assert kept_orders(tuple(SIZES), found.before) == len(orders)
    free = workload_flexion(replace(one.choices, supports=classes()[-1]), SIZES, count_tiles, found)
    assert free.axes[1].supported.value == len(orders)


def of_class(own: OwnMapping, supports: Supports) -> Bools:
    """Which of all mappings are of a class: as the dataflow's on each axis that is fixed."""
    every = everything()
    fine, given = np.ones(len(every), bool), np.array([[float(size)] for size in SIZES.values()])
    if supports[3] == "fixed":
        fine &= (every.fanouts == np.array(own.shape)[:, None]).all(axis=0)
    for at, level in enumerate(every.levels):
        moves, spread = level.temporal < given, level.spatial < level.temporal
        if supports[0] == "fixed":
            fine &= (level.spatial == own.tiles[at][:, None]).all(axis=0)
        if supports[1] == "fixed":
            place = np.argsort(own.orders[at])
            for one, two in permutations(range(3), 2):
                if place[one] < place[two]:
                    fine &= ~(moves[one] & moves[two]) | (level.place[one] < level.place[two])
        if supports[2] == "fixed":
            (shared,) = own.spread[at] or (-1,)
            wide = np.where(np.arange(3)[:, None] == shared, every.fanouts[at], 1)
            fine &= (level.temporal == np.minimum(level.spatial * wide, given)).all(axis=0)
            fine &= ~spread[[n for n in range(3) if n != shared]].any(axis=0)
        given = level.spatial
    return fine


@pytest.mark.parametrize("rows", [(), *RULES])
def test_the_best_of_each_class_is_that_of_all_its_mappings_that_meet_constraints(rows: Rows) -> None:
    """And no class is better than without constraints, or than one with more choice."""
    search, every = searched(rules(*rows)), everything()
    (one,) = search.prepared
    task, costs = one.task, one.task.costs(every)
    fits = Limits(task.capacity.l1, task.capacity.l2).fit(costs, "time")
    fine = allowed(task) if rows else np.ones(len(every), bool)
    found = ClassSearch("time", 2000, 0).run(task, one.choices, one.own, classes(), lambda count: None)
    for best in found:
        mine = fits & of_class(one.own, best.supports)
        least, free = (costs.cycles[mine & some].min(initial=np.inf) for some in (fine, True))
        assert (np.inf if best.cost is None else best.cost.cycles) == least >= free
    for inner, outer in combinations(found, found):
        if inner.cost is not None and is_within(inner.supports, outer.supports):
            assert outer.cost is not None
            assert outer.cost.cycles <= inner.cost.cycles


@pytest.mark.parametrize("rows", RULES)
def test_a_few_mappings_are_enough_to_find_one(rows: Rows) -> None:
    (one,) = searched(rules(*rows)).prepared
    budget, free = len(shapes_of(ELEMENTS)), classes()[-1]
    (best,) = ClassSearch("time", budget, 0).run(one.task, one.choices, one.own, [free], lambda count: None)
    assert best.cost is not None


@pytest.mark.parametrize("rows", RULES)
def test_what_is_found_meets_the_constraints(rows: Rows) -> None:
    (one,) = searched(rules(*rows)).prepared
    for best in ClassSearch("time", 50, 1).run(one.task, one.choices, one.own, classes(), lambda count: None):
        assert (best.cost is None) == (best.mapping is None)
        mapping = None if best.mapping is None else best.mapping.data
        if isinstance(mapping, Clusters):
            assert one.task.allows(mapping)
