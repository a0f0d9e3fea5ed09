"""What the model expects of a unit's work, and its spread, beside walks over real masks."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product as pairs
from math import sqrt
from typing import Any

import numpy as np
import pytest

from npuc.compiler.analysis.hetero.classes import CLASSES, UnitKind
from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.compiler.analysis.hetero.work import unit_work
from tests.unit.hetero.masks import (
    SMALL,
    Mask,
    masks_of,
    walk_compressed_a,
    walk_compressed_b,
    walk_dense,
    walk_inner,
    walk_outer,
    walk_rows,
)

MASKS = 400
Walk = Callable[[Mask, Mask], Any]


def counts(product: SparseProduct, walk: Walk, masks: int = MASKS) -> np.ndarray[Any, Any]:
    """What a walk counts on many masks, a row a mask."""
    random = np.random.default_rng(7)
    return np.array([walk(*masks_of(product, random)) for _ in range(masks)], float)


def check(found: np.ndarray[Any, Any], mean: float, deviation: float | None = None) -> None:
    """The mean within three standard errors, and the variance within three of its own, a normal law's at least."""
    error = found.std(ddof=1) / sqrt(len(found))
    assert abs(found.mean() - mean) <= 3 * error + 1e-9
    if deviation is None:
        return
    apart = (found - found.mean()) ** 2
    spread = max(float(apart.std(ddof=1)), sqrt(2) * deviation**2) / sqrt(len(found))
    assert abs(apart.mean() - deviation**2) <= 3 * spread + 1e-9


@pytest.mark.parametrize("product", SMALL, ids=lambda one: one.name)
def test_multiplications_of_units_are_those_of_walks(product: SparseProduct) -> None:
    dense = unit_work("dense", product, ("dense", "dense"), 4)
    assert set(counts(product, walk_dense, 3)) == {dense.steps}
    assert dense.deviation == 0
    compressed_b = unit_work("dense-sparse", product, ("dense", "csc"), 4)
    check(counts(product, walk_compressed_b), compressed_b.steps, compressed_b.deviation)
    compressed_a = unit_work("dense-sparse", product, ("csr", "dense"), 4)
    check(counts(product, walk_compressed_a), compressed_a.steps, compressed_a.deviation)


@pytest.mark.parametrize("product", SMALL, ids=lambda one: one.name)
def test_intersections(product: SparseProduct) -> None:
    of_a = product.a >= product.b
    work = unit_work("inner", product, ("csr", "csc"), 4)
    found = counts(product, lambda a, b: walk_inner(a, b, of_a=of_a), 200)
    check(found[:, 0], work.steps, work.deviation)
    check(found[:, 1], float(work.multiplications))
    assert work.steps == product.m * product.n * product.k * max(product.a, product.b)


@pytest.mark.parametrize("product", SMALL, ids=lambda one: one.name)
def test_outer_products_and_their_merge(product: SparseProduct) -> None:
    work = unit_work("outer", product, ("csc", "csr"), 4)
    found = counts(product, walk_outer)
    check(found[:, 0], float(work.multiplications), work.deviation)
    check(found[:, 1], work.merges)
    check(found[:, 2], product.result_nonzeros)
    assert work.steps == float(work.multiplications) + work.merges


@pytest.mark.parametrize("product", SMALL, ids=lambda one: one.name)
def test_rows(product: SparseProduct) -> None:
    work = unit_work("row-wise", product, ("csr", "csr"), 3)
    found = counts(product, lambda a, b: walk_rows(a, b, 3))
    check(found[:, 0], float(work.multiplications), work.deviation)
    check(found[:, 1], work.merges)


@pytest.mark.parametrize(("rows", "pes"), [(12, 4), (40, 8), (10, 4)])
def test_the_element_with_most_rows_ends_last(rows: int, pes: int) -> None:
    """An estimate: real masks are within a tenth of it; even rows would be far below."""
    product = SparseProduct("rows", rows, 12, 20, Fraction(1, 4), Fraction(1, 4))
    work = unit_work("row-wise", product, ("csr", "csr"), pes)
    found = counts(product, lambda a, b: walk_rows(a, b, pes), 100)[:, 2].mean()
    assert work.longest == pytest.approx(found, rel=0.1)
    assert work.steps / pes < 0.93 * found


def test_the_variance_is_exact() -> None:
    """All masks of a small product, each by its probability."""
    a, b = Fraction(1, 3), Fraction(1, 4)
    product = SparseProduct("all", 2, 2, 2, a, b)
    mean, square = Fraction(0), Fraction(0)
    for bits in pairs((0, 1), repeat=8):
        ones_a, ones_b = sum(bits[:4]), sum(bits[4:])
        chance = a**ones_a * (1 - a) ** (4 - ones_a) * b**ones_b * (1 - b) ** (4 - ones_b)
        count = sum(bits[2 * m + k] * bits[4 + 2 * k + n] for m in range(2) for n in range(2) for k in range(2))
        mean, square = mean + chance * count, square + chance * count * count
    assert product.multiplications == mean
    assert product.variance == square - mean * mean


def test_a_dense_product_has_no_spread() -> None:
    product = SparseProduct("dense", 5, 6, 7)
    assert product.variance == product.row_variance == 0
    assert product.result_nonzeros == 30
    kinds: tuple[UnitKind, ...] = ("inner", "outer", "row-wise")
    for kind in kinds:
        work = unit_work(kind, product, CLASSES[kind].takes[0], 1)
        assert (work.multiplications, work.deviation) == (210, 0)
        assert work.longest == work.steps
