"""Masks of exactly as many elements as are asked for."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuc.compiler.analysis.sparsity.masks import exact_mask, top_k
from npuc.compiler.layers.largest import kept_count, largest


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=30), st.fractions(0, 1))
def test_exactly_the_largest(values: list[int], share: Fraction) -> None:
    count = ceil(share * len(values))
    by_size = sorted(range(len(values)), key=lambda i: (-abs(values[i]), i))
    mask = top_k(np.array(values, np.float32), share)
    assert sorted(np.flatnonzero(mask).tolist()) == sorted(by_size[:count])


def test_what_is_no_number_is_largest() -> None:
    values = np.array([1.0, np.nan, 5.0, np.inf, np.nan])
    assert largest(values, 1).tolist() == [False, True, False, False, False]
    assert largest(values, 3).tolist() == [False, True, False, True, True]


@pytest.mark.parametrize(
    ("share", "count", "kept"), [(0.1, 10, 1), (0.1, 11, 2), (0.0, 5, 0), (1.0, 5, 5), (0.7, 30, 21)]
)
def test_a_share_is_exact(share: float, count: int, kept: int) -> None:
    """0.7 is a little less than 7/10 as a binary number, 0.1 a little more than 1/10."""
    assert kept_count(share, count) == kept


@given(st.integers(1, 40), st.fractions(0, 1), st.integers(0, 9))
def test_random_masks_of_exactly_so_many(count: int, share: Fraction, seed: int) -> None:
    assert exact_mask((count,), share, seed).sum() == ceil(share * count)
