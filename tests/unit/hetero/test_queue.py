"""Many products on the units of a machine: bounds, brute force, and a bandwidth that units share."""

from itertools import product as pairs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.compiler.analysis.hetero.queue import queue_plan, side_by_side
from npuc.compiler.analysis.hetero.tiles import UnitShare, best_split, single_splits
from npuc.compiler.analysis.hetero.unit import UnitMachine, unit_cost
from tests.unit.hetero.machines import MACHINES, PRODUCTS, machine, unit

QUEUES = st.lists(PRODUCTS, min_size=1, max_size=4)


def share(found: UnitMachine, number: int, cycles: float, moved: float) -> UnitShare:
    return UnitShare(found.units[number], 1, cycles, moved, 0.0)


@settings(deadline=None, max_examples=40)
@given(MACHINES, QUEUES)
def test_a_plan_is_within_its_bounds(found: UnitMachine, products: list[SparseProduct]) -> None:
    plan = queue_plan(found, products, tiles=4)
    done = [one.name for _, queue in plan.whole for one in queue] + [one.product.name for one in plan.split]
    assert len(done) == len(products)
    best_unit = min(
        sum(max(cost.cycles / found.hertz, cost.dram_bytes / found.bytes_per_second) for cost in costs)
        for costs in ([unit_cost(one, product) for product in products] for one in found.units)
    )
    assert plan.seconds <= best_unit * (1 + 1e-9)
    assert plan.seconds <= sum(best_split(found, one, tiles=4).seconds for one in products) * (1 + 1e-9)
    moved = sum(min(unit_cost(one, product).dram_bytes for one in found.units) for product in products)
    if not plan.split:
        assert plan.seconds >= moved / found.bytes_per_second * (1 - 1e-9)


@settings(deadline=None, max_examples=30)
@given(MACHINES, QUEUES)
def test_whole_products_are_never_below_the_best_way_to_deal_them(
    found: UnitMachine, products: list[SparseProduct]
) -> None:
    plan = queue_plan(found, products, tiles=1)
    best = float("inf")
    for owners in pairs(range(len(found.units)), repeat=len(products)):
        queues: list[list[UnitShare]] = [[] for _ in found.units]
        for product, owner in zip(products, owners, strict=True):
            cost = unit_cost(found.units[owner], product)
            queues[owner].append(share(found, owner, cost.cycles, cost.dram_bytes))
        best = min(best, side_by_side(found, queues))
    assert plan.seconds >= best * (1 - 1e-9) or plan.split


def test_like_units_take_one_each() -> None:
    found = machine(*(unit("dense", 4, 1 << 20, name) for name in "abc"), bytes_per_second=1e18)
    products = [SparseProduct(str(number), 5, 7, 11) for number in range(3)]
    plan = queue_plan(found, products, tiles=1)
    assert [len(queue) for _, queue in plan.whole] == [1, 1, 1]
    assert plan.seconds == pytest.approx(next(single_splits(found, products[0])).seconds)


def test_the_longest_is_split_where_that_is_shorter() -> None:
    found = machine(*(unit("dense", 4, 1 << 20, name) for name in "ab"), bytes_per_second=1e18)
    plan = queue_plan(found, [SparseProduct("long", 64, 16, 16)])
    assert [one.product.name for one in plan.split] == ["long"]
    assert plan.split[0].sizes == (32, 32)


def test_units_side_by_side_share_the_bandwidth() -> None:
    """1 GB/s: 100 bytes each at half the rate take 200 ns, not 100."""
    found = machine(unit("dense", name="a"), unit("dense", name="b"))
    assert side_by_side(found, [[share(found, 0, 1, 100)], [share(found, 1, 1, 100)]]) == pytest.approx(200e-9)
    # the second has 50 bytes left when the first is done with its 50, and then the whole rate
    assert side_by_side(found, [[share(found, 0, 1, 50)], [share(found, 1, 1, 100)]]) == pytest.approx(150e-9)
    # computing needs no bandwidth
    assert side_by_side(found, [[share(found, 0, 300, 0)], [share(found, 1, 1, 100)]]) == pytest.approx(300e-9)
    assert side_by_side(found, []) == 0.0


def test_one_unit_has_all_where_no_other_plan_is_shorter() -> None:
    """The second unit has no room: what it moves takes the bandwidth of the first."""
    found = machine(unit("dense", 64, 1 << 20, "a"), unit("dense", 64, 4, "b"), bytes_per_second=1e9)
    products = [SparseProduct(str(number), 16, 16, 16) for number in range(3)]
    plan = queue_plan(found, products, tiles=2)
    alone = sum(unit_cost(found.units[0], product).seconds(found) for product in products)
    assert plan.seconds == pytest.approx(alone)
