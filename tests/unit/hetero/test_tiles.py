"""Products in whole tiles: the least time of all ways to deal them, by brute force, and its bounds."""

from fractions import Fraction
from itertools import product as pairs
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.analysis.hetero.classes import KINDS, UnitKind
from npuc.compiler.analysis.hetero.linear import linear_split
from npuc.compiler.analysis.hetero.product import AXES, Axis, SparseProduct
from npuc.compiler.analysis.hetero.tiles import best_split, one_share, single_splits, split_along
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine, unit_cost
from npuc.compiler.core.errors import UsageError
from tests.unit.hetero.machines import MACHINES, PRODUCTS, machine, unit
from tests.unit.hetero.masks import masks_of

SQUARE: dict[str, Any] = {"name": "p", "m": 2, "n": 2, "k": 2}


def brute(machine: UnitMachine, product: SparseProduct, axis: Axis, tile: int) -> float:
    """The least time over all ways to give each tile to a unit."""
    size = product.size(axis)
    tiles = [min(tile, size - at) for at in range(0, size, tile)]
    times: list[float] = []
    for owners in pairs(range(len(machine.units)), repeat=len(tiles)):
        ends, moved = 0.0, 0.0
        for number, one in enumerate(machine.units):
            part = sum(length for owner, length in zip(owners, tiles, strict=True) if owner == number)
            if part:
                share = one_share(machine, one, product, axis, part)
                ends, moved = max(ends, share.cycles / machine.hertz), moved + share.dram_bytes
        times.append(max(ends, moved / machine.bytes_per_second))
    return min(times)


def test_no_way_to_deal_tiles_is_faster() -> None:
    """On one to three units, with bandwidths that limit and that do not, with a smaller last tile and without."""
    random = Random(3)
    for _ in range(300):
        units = [
            unit(random.choice(KINDS), random.randint(1, 8), random.choice([16, 64, 1024]), f"u{number}")
            for number in range(random.randint(1, 3))
        ]
        found = machine(*units, bytes_per_second=10 ** random.uniform(9, 11.5))
        m, n, k = (random.randint(1, 9) for _ in range(3))
        a, b = (Fraction(1, random.choice([1, 2, 5, 20])) for _ in range(2))
        product, axis = SparseProduct("p", m, n, k, a, b), random.choice(AXES)
        split = split_along(found, product, axis, random.randint(1, 5))
        assert sum(split.sizes) == product.size(axis)
        assert split.seconds == pytest.approx(brute(found, product, axis, split.tile), rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(MACHINES, PRODUCTS)
def test_a_split_is_never_slower_than_the_best_unit(found: UnitMachine, product: SparseProduct) -> None:
    split = best_split(found, product)
    assert split.seconds <= min(one.seconds for one in single_splits(found, product))
    assert split.seconds * found.bytes_per_second >= split.dram_bytes * (1 - 1e-12)
    assert split.seconds * found.hertz >= max(share.cycles for share in split.shares) * (1 - 1e-12)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 300))
def test_units_end_together_within_one_tile(elements: list[int], rows: int) -> None:
    """Where work is in proportion to rows and bandwidth does not limit: the exact split of linear times."""
    units = [unit("dense", pes, 1 << 30, f"u{number}") for number, pes in enumerate(elements)]
    found, product = machine(*units, bytes_per_second=1e18), SparseProduct("even", rows, 16, 16)
    split = split_along(found, product, "m", tiles=rows)
    times = [Fraction(rows * 256, pes) for pes in elements]
    exact = linear_split(times, [0] * len(times), None).seconds
    longest_tile = max(Fraction(256, pes) for pes in elements)
    assert exact <= round(split.seconds * found.hertz, 6) + 1e-6
    assert split.seconds * found.hertz <= float(exact + longest_tile)


def test_like_units_do_not_gain_where_bandwidth_limits() -> None:
    one = machine(unit("dense", 64, 1 << 20, "a"), bytes_per_second=1e6)
    two = machine(*(unit("dense", 64, 1 << 20, name) for name in "ab"), bytes_per_second=1e6)
    product = SparseProduct("bound", 32, 32, 32)
    assert best_split(two, product).seconds == best_split(one, product).seconds


def test_a_cut_sum_adds_its_parts() -> None:
    found = machine(unit("dense"), unit("dense", name="other"), bytes_per_second=1e18)
    product = SparseProduct("sum", 4, 4, 64)
    split = split_along(found, product, "k", tiles=64)
    assert split.sizes == (32, 32)
    assert split.shares[0].cycles == 4 * 4 * 32 / 4 + 4 * 4 / 4  # its products, and an addition for each element of C
    part = unit_cost(found.units[0], product.part("k", 32))
    added = 4 * 4 * 1.0 + 4 * 4 * 2 * 10.0  # pJ of additions, and of the sums so far that are read
    assert split.shares[0].joules == pytest.approx(part.joules(found) + 1e-12 * added)
    assert split.shares[0].dram_bytes == part.dram_bytes + 4 * 4 * 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_smaller_buffer_moves_no_less(kind: UnitKind) -> None:
    product = SparseProduct("p", 40, 30, 50, Fraction(1, 5), Fraction(1, 4))
    moved = [unit_cost(unit(kind, 4, size), product).dram_bytes for size in (4, 64, 1024, 1 << 14, 1 << 24)]
    assert moved == sorted(moved, reverse=True)
    assert moved[0] > moved[-1]


def test_partial_sums_that_do_not_fit_are_spilled() -> None:
    """All but what the buffer holds is written and read again, six bytes a product."""
    product = SparseProduct("p", 20, 20, 20, Fraction(1, 2), Fraction(1, 2))
    cost = unit_cost(unit("outer", 4, 600), product)
    assert cost.traffic.spilled == 2 * (6 * 2000 - 600)
    assert unit_cost(unit("outer", 4, 12000), product).traffic.spilled == 0


def test_compulsory_traffic() -> None:
    """With a large buffer operands come once and the result goes once, in the formats of the unit."""
    product = SparseProduct("p", 4, 6, 8, Fraction(1), Fraction(1, 2))
    assert unit_cost(unit("dense", 4, 1 << 20), product).dram_bytes == 2 * (4 * 8 + 8 * 6 + 4 * 6)
    cost = unit_cost(unit("dense-sparse", 4, 1 << 20), product)
    assert cost.formats == ("dense", "csc")
    assert cost.dram_bytes == 2 * 32 + (24 * 6 + 7 * 4) + 2 * 24


def test_a_unit_without_a_buffer_is_refused() -> None:
    with pytest.raises(UsageError, match="unit 'dense' has no buffer"):
        unit("dense", 4, 0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"a": Fraction(0)}, "p: density of A: expected above 0 and at most 1, got 0"),
        ({"b": Fraction(3, 2)}, "p: density of B: expected above 0 and at most 1, got 3/2"),
        ({"m": 0}, "p: m: expected at least 1, got 0"),
        ({"a_format": "coo"}, "p: format of A: expected dense, csr, csc, got 'coo'"),
    ],
)
def test_products_that_do_not_exist(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SparseProduct(**SQUARE | changed)


def test_formats_that_no_unit_takes_are_named_before_anything_is_computed() -> None:
    product = SparseProduct("p", 4, 4, 4, a_format="csr", b_format="csr")
    found = machine(unit("dense"), unit("outer"))
    with pytest.raises(UsageError, match="p: no unit takes operands in csr x csr") as error:
        best_split(found, product)
    assert error.value.hint == "'dense' takes dense x dense; 'outer' takes csc x csr"
    only = SparseUnit("eie", "dense-sparse", 4, 256, 1.0, 1.0, only=("dense", "csc"))
    with pytest.raises(UsageError, match="no unit takes"):
        unit_cost(only, SparseProduct("p", 4, 4, 4, a_format="csr", b_format="dense"))


@pytest.mark.parametrize("room", [0, 1])
def test_rows_of_b_come_for_every_nonzero_of_a_or_once(room: int) -> None:
    """Real masks: without room a row of B comes for each nonzero of A that wants it, with room once where one does."""
    product = SparseProduct("p", 6, 30, 10, Fraction(1, 5), Fraction(1, 10))
    random, entry = np.random.default_rng(5), 6
    wanted: list[float] = []
    for _ in range(2000):
        a, _ = masks_of(product, random)
        wanted.append((a.any(axis=0) if room else a.sum(axis=0)).sum().item() / product.k)
    # a buffer of the sums of a row, or of these and all of B
    sums = entry * product.multiplications / product.m
    b = product.operand_bytes("b", "csr")
    cost = unit_cost(unit("row-wise", 4, int(sums) + 1 + room * int(b)), product)
    assert cost.traffic.spilled == 0
    assert cost.traffic.b == pytest.approx(float(b) * float(np.mean(wanted)), rel=0.02)
