"""Columns that hold slices of weights: the note's figures, closed forms against sums, pairing against all pairings."""

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.sparsity import procrustes
from npuc.compiler.analysis.sparsity.masks import random_mask
from npuc.compiler.core.errors import UsageError

SIZE, COLUMNS = 256 * 9, 16


@pytest.mark.parametrize(
    ("sigma", "unbalanced", "balanced"),
    [(0.0, 0.108, 0.021), (0.3, 0.68, 0.16), (0.6, 1.63, 0.48)],
    ids=["independent", "varied", "varied more"],
)
def test_published_overheads(sigma: float, unbalanced: float, balanced: float) -> None:
    """
    256 x (256 9) weights of which 10 % are left, on 16 columns.

    The figures come from one mask of 16 passes: they may be two of its deviations away, at least 2 points.
    """
    for share, wanted in ((False, unbalanced), (True, balanced)):
        factor = procrustes.work_factor(0.1, SIZE, COLUMNS, balanced=share, sigma=sigma)
        found = procrustes.overhead(factor, 0.1)
        assert abs(found - wanted) <= (max(0.02, 2 * factor.deviation(16) / 0.1) if sigma else 0.02)


def walked(mask: list[list[bool]], columns: int, balanced: bool) -> list[int]:
    """The work of each pass, nonzero by nonzero; halves are taken from both ends of a sorted list."""
    work: list[int] = []
    for start in range(0, len(mask), columns):
        slices = mask[start : start + columns]
        if not balanced:
            work.append(max(sum(1 for x in row if x) for row in slices))
            continue
        halves: list[int] = []
        for row in slices:
            middle = len(row) - len(row) // 2
            halves += [sum(1 for x in row[:middle] if x), sum(1 for x in row[middle:] if x)]
        halves.sort()
        pairs: list[int] = []
        while halves:
            pairs.append(halves.pop(0) + halves.pop())
        work.append(max(pairs))
    return work


@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 5), st.floats(0, 1), st.integers(0, 99))
def test_work_of_masks(slices: int, size: int, columns: int, density: float, seed: int) -> None:
    mask = random_mask((slices, size), density, seed)
    for balanced in (False, True):
        assert procrustes.mask_work(mask, columns, balanced=balanced).tolist() == walked(
            mask.tolist(), columns, balanced
        )
    assert (procrustes.mask_work(mask, columns, balanced=True) <= procrustes.mask_work(mask, columns)).all()
    factor = procrustes.mask_factor(mask, columns, balanced=True)
    full = -(-slices // columns) * columns * size
    assert factor >= mask.sum() / full - 1e-12


@given(st.lists(st.integers(0, 9), min_size=6, max_size=6))
def test_no_pairing_is_better(halves: list[int]) -> None:
    best = min(max(a + b for a, b in zip(p[::2], p[1::2], strict=True)) for p in itertools.permutations(halves))
    assert procrustes.pass_work(np.array(halves).reshape(1, 3, 2), balanced=True)[0] == best


@pytest.mark.parametrize(("density", "size", "columns"), [(0.3, 7, 4), (0.05, 20, 3), (0.9, 12, 1)])
def test_closed_form(density: float, size: int, columns: int) -> None:
    """E[max] as the sum over all values, written out."""
    chances = [comb(size, k) * density**k * (1 - density) ** (size - k) for k in range(size + 1)]
    below = [sum(chances[: k + 1]) ** columns for k in range(size + 1)]
    mean = sum(k * (below[k] - (below[k - 1] if k else 0.0)) for k in range(size + 1))
    square = sum(k * k * (below[k] - (below[k - 1] if k else 0.0)) for k in range(size + 1))
    factor = procrustes.work_factor(density, size, columns)
    assert factor.mean == pytest.approx(mean / size, rel=1e-12)
    assert factor.spread == pytest.approx((square - mean**2) ** 0.5 / size, rel=1e-9)
    assert factor.error == 0.0


def test_samples_agree_with_the_closed_form() -> None:
    halves = procrustes.sampled_halves(0.1, 300, 8, seed=3)
    work = procrustes.pass_work(halves, balanced=False) / 300
    exact = procrustes.work_factor(0.1, 300, 8)
    assert abs(work.mean() - exact.mean) < 4 * exact.spread / len(work) ** 0.5


def test_counted_masks_agree_with_what_is_expected() -> None:
    mask = random_mask((512, 400), 0.2, 5)
    for balanced in (False, True):
        factor = procrustes.work_factor(0.2, 400, 16, balanced=balanced)
        counted = procrustes.mask_factor(mask, 16, balanced=balanced)
        assert abs(counted - factor.mean) < 4 * factor.deviation(32)


@given(st.floats(0.001, 1.0), st.integers(1, 400), st.integers(1, 40), st.booleans(), st.sampled_from([0.0, 0.4, 2.0]))
def test_bounds(density: float, size: int, columns: int, balanced: bool, sigma: float) -> None:
    factor = procrustes.work_factor(density, size, columns, balanced=balanced, sigma=sigma, passes=64)
    assert density <= factor.mean <= 1.0
    assert factor.speed_up <= 1 / density * (1 + 1e-12)
    assert procrustes.work_factor(1.0, size, columns, balanced=balanced, sigma=sigma).mean == 1.0


@pytest.mark.parametrize(("mean", "sigma"), [(0.1, 0.3), (0.5, 1.5), (0.95, 0.6)])
def test_varied_densities_keep_their_mean(mean: float, sigma: float) -> None:
    normal = np.random.default_rng(1).standard_normal(200_000)
    cut = np.minimum(procrustes.log_normal_scale(mean, sigma) * np.exp(sigma * normal), 1.0)
    assert abs(cut.mean() - mean) < 4 * cut.std() / len(cut) ** 0.5


def test_seeds() -> None:
    one, again, other = (procrustes.work_factor(0.1, 64, 8, balanced=True, seed=seed) for seed in (0, 0, 1))
    assert one == again != other
    assert abs(one.mean - other.mean) < 4 * (one.error + other.error)


@pytest.mark.parametrize(
    ("density", "size", "columns", "sigma"), [(0.0, 1, 1, 0.0), (1.5, 1, 1, 0.0), (0.5, 0, 1, 0.0), (0.5, 1, 1, -1.0)]
)
def test_refused(density: float, size: int, columns: int, sigma: float) -> None:
    with pytest.raises(UsageError, match="expected"):
        procrustes.work_factor(density, size, columns, sigma=sigma)
