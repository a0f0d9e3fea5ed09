"""Tables of many sizes are what one share after the other costs; batches, unfolded operands, goals."""

from fractions import Fraction
from itertools import product as pairs

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.hetero.product import Axis, SparseProduct
from npuc.compiler.analysis.hetero.tables import share_table
from npuc.compiler.analysis.hetero.tiles import GOALS, Goal, best_split, one_share, single_splits
from npuc.compiler.analysis.hetero.unit import UnitMachine, unit_cost
from tests.unit.hetero.machines import DENSITIES, MACHINES, machine, unit

SHARES = st.sampled_from([Fraction(1), Fraction(1, 9), Fraction(2, 5)])
BATCHED = st.builds(
    SparseProduct,
    st.just("p"),
    *(3 * [st.integers(1, 40)]),
    DENSITIES,
    DENSITIES,
    st.sampled_from([Fraction(2), Fraction(5, 4)]),
    batch=st.integers(1, 4),
    stored=st.tuples(SHARES, SHARES, SHARES),
)
AXIS = st.sampled_from(["batch", "m", "n", "k"])


@settings(deadline=None, max_examples=150)
@given(MACHINES, BATCHED, AXIS)
def test_a_table_is_the_shares(found: UnitMachine, product: SparseProduct, axis: Axis) -> None:
    sizes = np.arange(1, product.size(axis) + 1)
    for one in found.units:
        table = share_table(found, one, product, axis, sizes)
        for number, size in enumerate(sizes):
            share = one_share(found, one, product, axis, int(size))
            assert table.cycles[number] == pytest.approx(share.cycles, rel=1e-9)
            assert table.moved[number] == pytest.approx(share.dram_bytes, rel=1e-9)
            assert table.joules[number] == pytest.approx(share.joules, rel=1e-9)
            assert 0 <= share.written_bytes <= share.dram_bytes * (1 + 1e-12)


@settings(deadline=None, max_examples=60)
@given(MACHINES, BATCHED)
def test_a_batch_takes_as_often_what_one_product_takes(found: UnitMachine, product: SparseProduct) -> None:
    single = product.part("batch", 1)
    for one in found.units:
        whole, part = unit_cost(one, product), unit_cost(one, single)
        assert whole.cycles == pytest.approx(product.batch * part.cycles)
        assert whole.dram_bytes == pytest.approx(product.batch * part.dram_bytes)
        assert whole.work.deviation**2 == pytest.approx(product.batch * part.work.deviation**2)
        assert whole.unit_pj == pytest.approx(product.batch * part.unit_pj)


def test_an_unfolded_operand_is_read_as_it_lies() -> None:
    """All fits the buffer: each operand and the result pass by once, A a ninth of its unfolded size."""
    product = SparseProduct("conv", 12, 5, 18, stored=(Fraction(1, 9), Fraction(1), Fraction(1)))
    cost = unit_cost(unit("dense", 4, 1 << 20), product)
    assert cost.dram_bytes == 2 * (12 * 18 / 9 + 18 * 5 + 12 * 5)


@settings(deadline=None, max_examples=60)
@given(MACHINES, BATCHED, st.sampled_from(GOALS))
def test_no_goal_is_missed_by_more_than_the_best_unit_does(
    found: UnitMachine, product: SparseProduct, goal: Goal
) -> None:
    split = best_split(found, product, tiles=6, goal=goal)
    assert split.rank(goal)[0] <= min(one.rank(goal)[0] for one in single_splits(found, product)) * (1 + 1e-12)
    assert split.rank(goal)[0] <= best_split(found, product, tiles=6).rank(goal)[0] * (1 + 1e-9) or goal == "edp"


@settings(deadline=None, max_examples=30)
@given(MACHINES, st.builds(SparseProduct, st.just("p"), *(3 * [st.integers(1, 6)]), DENSITIES, DENSITIES))
def test_the_least_energy_is_that_of_all_ways_to_deal_tiles(found: UnitMachine, product: SparseProduct) -> None:
    split = best_split(found, product, axes=("n",), tiles=6, goal="energy")
    least = min(one.joules for one in single_splits(found, product))
    for owners in pairs(range(len(found.units)), repeat=product.n):
        parts = [(one, owners.count(number)) for number, one in enumerate(found.units)]
        least = min(least, sum(one_share(found, one, product, "n", size).joules for one, size in parts if size))
    assert split.joules == pytest.approx(least, rel=1e-9)


def test_a_batch_may_be_shared() -> None:
    found = machine(unit("dense", 4, 1 << 20, "a"), unit("dense", 4, 1 << 20, "b"), bytes_per_second=1e18)
    split = best_split(found, SparseProduct("heads", 5, 1, 3, batch=8))
    assert (split.axis, split.sizes) == ("batch", (4, 4))
    assert split.shares[0].cycles == 4 * 5 * 3 / 4
