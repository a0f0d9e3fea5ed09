"""Transposable masks: at most N of M along both axes, the best of all masks or at least half as good."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npuc.compiler.layers.transposable import all_masks, transposable_mask


def largest_sum(block: np.ndarray, kept: int) -> float:
    """The largest sum of magnitudes of a block by trying all subsets of each row in turn."""
    size = len(block)
    subsets = [frozenset(one) for one in itertools.combinations(range(size), kept)]
    best = {(0,) * size: 0.0}
    for row in np.abs(block):
        after: dict[tuple[int, ...], float] = {}
        for used, total in best.items():
            for chosen in subsets:
                now = tuple(count + (n in chosen) for n, count in enumerate(used))
                if max(now) <= kept:
                    value = total + float(sum(row[n] for n in chosen))
                    after[now] = max(after.get(now, -1.0), value)
        best = after
    return max(best.values())


@pytest.mark.parametrize(("kept", "of", "count"), [(1, 2, 2), (1, 4, 24), (2, 4, 90), (3, 4, 24), (4, 4, 1)])
def test_numbers_of_masks(kept: int, of: int, count: int) -> None:
    assert len(all_masks(kept, of)) == count


@given(st.integers(0, 999), st.sampled_from([(1, 2), (1, 4), (2, 4), (3, 4), (2, 5), (4, 8)]), st.booleans())
@settings(max_examples=40)
def test_groups_keep_at_most_n_along_both_axes(seed: int, pattern: tuple[int, int], swapped: bool) -> None:
    kept, of = pattern
    random = np.random.default_rng(seed)
    x = random.standard_normal((random.integers(1, 11), 3, random.integers(1, 11)))
    axes = (2, 0) if swapped else (0, 2)
    mask = transposable_mask(x, kept, of, axes)
    assert mask.shape == x.shape
    for axis in axes:
        ends = np.arange(0, int(x.shape[axis]), of)
        assert np.add.reduceat(mask.astype(int), ends, axis=axis).max() <= kept


@given(st.integers(0, 999), st.sampled_from([(1, 3), (1, 4), (2, 4), (2, 5), (2, 6)]))
@settings(max_examples=30)
def test_sums_are_the_largest_or_at_least_half(seed: int, pattern: tuple[int, int]) -> None:
    kept, of = pattern
    x = np.random.default_rng(seed).standard_normal((of, of))
    own, best = float(np.abs(x)[transposable_mask(x, kept, of, (0, 1))].sum()), largest_sum(x, kept)
    if of <= 4:
        assert own == pytest.approx(best)
    else:
        assert best / 2 <= own <= best + 1e-9


def test_a_transpose_has_the_transposed_mask() -> None:
    x = np.random.default_rng(1).standard_normal((8, 12))
    assert (transposable_mask(x.T, 2, 4, (1, 0)) == transposable_mask(x, 2, 4, (0, 1)).T).all()


def test_infinite_and_missing_numbers_are_kept() -> None:
    x = np.ones((4, 4))
    x[1, 2], x[3, 0] = np.inf, np.nan
    mask = transposable_mask(x, 2, 4, (0, 1))
    assert mask[1, 2]
    assert mask[3, 0]
    assert mask.sum() == 8
