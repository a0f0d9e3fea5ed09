"""Counts of tiles are those of brute force; more choice is never slower; what a class has best is what it costs."""

from functools import cache
from itertools import product as combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.backends.registry import get_backend
from npuc.compiler.analysis.mapping.exact.contraction import Contraction, TensorAxis
from npuc.compiler.analysis.mapping.flexibility.axes import SUPPORTS, Supports, is_within
from npuc.compiler.analysis.mapping.flexibility.choices import stationary_orders
from npuc.compiler.analysis.mapping.flexibility.tiles import TileBuffer, count_tiles
from npuc.compiler.driver.compile import lowered_module
from npuc.compiler.explore.flexibility.classes import ClassBest, ClassSearch
from npuc.compiler.explore.flexibility.find import FlexSearch, choices_of
from npuc.compiler.explore.flexibility.machine import flexible_machine
from npuc.compiler.explore.flexibility.own import OwnMapping, own_mapping
from npuc.compiler.explore.flexibility.result import FlexSettings
from npuc.compiler.explore.mapping.best import exact_cost
from npuc.compiler.explore.mapping.task import ExactTask
from npuc.dialects.mapping import Clusters
from npuc.frontends.source import text_source

NET = """\
network small(batch=4) {
  input x: f32[batch, 6, 9, 9]
  labels y: i32[batch]
  h = relu(conv2d(x, 8, 3, stride=2))
  logits = linear(flatten(h), 10)
  loss cross_entropy(logits, y)
  optimizer sgd(lr=0.1)
}
"""
ALL: list[Supports] = [(t, o, p, s) for t, o, p, s in combinations(SUPPORTS, repeat=4) if p != "some"]


def extent(sizes: list[int], steps: list[int]) -> int:
    return len(
        {sum(step * at for step, at in zip(steps, place, strict=True)) for place in combinations(*map(range, sizes))}
    )


@given(
    sizes=st.lists(st.integers(1, 5), min_size=4, max_size=4),
    steps=st.tuples(st.integers(1, 3), st.integers(1, 2)),
    words=st.integers(1, 120),
    sums=st.sampled_from([1, 2, 4]),
)
def test_tiles_are_those_of_brute_force(sizes: list[int], steps: tuple[int, int], words: int, sums: int) -> None:
    names = ("o", "i", "y", "r")
    window = TensorAxis((("y", steps[0]), ("r", steps[1])))
    o, i, y, r = (TensorAxis(((name, 1),)) for name in names)
    work = Contraction(tuple(zip(names, sizes, strict=True)), ((i, window), (o, i, r), (o, y)))
    soft = hard = 0
    for tile_o, tile_i, tile_y, tile_r in combinations(*(range(1, size + 1) for size in sizes)):
        needs = (
            tile_i * extent([tile_y, tile_r], list(steps)),
            tile_o * tile_i * tile_r,
            sums * tile_o * tile_y,
        )
        soft += sum(needs) <= words
        hard += 3 * max(needs) <= words
    counts = count_tiles(TileBuffer((work,), words, sums), dict(work.dims))
    assert counts.exact
    assert (counts.soft.value, round(counts.hard.value * counts.soft.value)) == (soft, hard)


@cache
def tasks(hardware: str) -> tuple[FlexSearch, list[ExactTask]]:
    keys = {"flexibility.shape": "blocks", "flexibility.block": 2}
    module, machine = lowered_module(
        text_source(NET, "dsl", "small.dsl"),
        get_backend("maestro"),
        {"hardware": hardware, "overrides": keys},
        print,
        [],
    )
    search = FlexSearch(module, machine, flexible_machine(machine), FlexSettings("time", 1, 0, None))
    return search, [task for task, _ in search.distinct.values()]


def found(task: ExactTask, search: FlexSearch, budget: int, seed: int) -> tuple[ClassBest, ...]:
    machine = search.machine
    own = own_mapping(task, machine.dataflow, ("some", "some", "any", "some"), "time")
    run = ClassSearch("time", budget, seed).run
    return run(task, choices_of(task, machine, own), own, ALL, lambda count: None)


@pytest.mark.parametrize("hardware", ["nvdla", "eyeriss", "maestro-example"])
@pytest.mark.parametrize(("budget", "seed"), [(1, 0), (7, 1), (300, 2)])
def test_more_choice_is_never_slower(hardware: str, budget: int, seed: int) -> None:
    search, several = tasks(hardware)
    for task in several:
        bests = found(task, search, budget, seed)
        for inner, outer in combinations(bests, bests):
            if is_within(inner.supports, outer.supports):
                assert outer.cost is not None
                assert inner.cost is not None
                assert outer.cost.cycles <= inner.cost.cycles
        assert all(best.evaluations <= budget for best in bests)
        assert bests == found(task, search, budget, seed)


@pytest.mark.parametrize("hardware", ["nvdla", "eyeriss"])
def test_the_best_mapping_costs_what_is_said_and_is_of_its_class(hardware: str) -> None:
    search, several = tasks(hardware)
    for task in several:
        own = own_mapping(task, search.machine.dataflow, ("some", "some", "any", "some"), "time")
        machine = task.machine
        for best in found(task, search, 200, 0):
            assert best.mapping is not None
            mapping = best.mapping.data
            assert isinstance(mapping, Clusters)
            cost = exact_cost(task.works, mapping, machine.array, machine.l1_size, float(machine.sum_size))
            assert cost == best.cost
            assert mapping.processing_elements <= machine.array.num_pes
            assert task.capacity.l2 is None or cost.l2 <= task.capacity.l2
            assert task.capacity.l1 is None or cost.l1 <= task.capacity.l1
            check_shape_and_pair(best, mapping, task, own)
            check_order(best, mapping, task, own)
            check_tiles(best, mapping, task, own)


def check_shape_and_pair(best: ClassBest, mapping: Clusters, task: ExactTask, own: OwnMapping) -> None:
    fanouts = tuple(level.fanout for level in mapping.levels)
    if best.supports[3] == "fixed":
        assert fanouts == own.shape
    elif best.supports[3] == "some" and fanouts != own.shape:
        assert all(count % 2 == 0 for count in fanouts)
    if best.supports[2] == "fixed":
        for level, places in zip(mapping.levels, own.spread, strict=True):
            allowed = {task.space.names[at] for at in places}
            assert {loop.dim for loop in level.loops if loop.parts > 1} <= allowed


def check_order(best: ClassBest, mapping: Clusters, task: ExactTask, own: OwnMapping) -> None:
    names = task.space.names
    orders = [tuple(names[int(at)] for at in order) for order in own.orders]
    allowed = [{orders[0]}, {orders[1]}]
    if best.supports[1] == "some":
        allowed[0] = set(stationary_orders(task.works[0], orders[0]))
    for level, known in zip(mapping.levels, allowed, strict=True):
        moving = tuple(loop.dim for loop in level.loops)
        if best.supports[1] != "any":
            assert moving in {tuple(dim for dim in order if dim in moving) for order in known}


def check_tiles(best: ClassBest, mapping: Clusters, task: ExactTask, own: OwnMapping) -> None:
    if best.supports[0] == "fixed":
        for level, tiles in zip(mapping.levels, own.tiles, strict=True):
            for loop in level.loops:
                assert loop.spatial == tiles[task.space.names.index(loop.dim)]
    elif best.supports[0] == "some" and task.capacity.l2 is not None:
        step = dict(task.space.dims) | {loop.dim: loop.temporal for loop in mapping.levels[0].loops}
        assert TileBuffer(task.works, task.capacity.l2 / 2, task.capacity.sum_size).holds(step, hard=True)
