"""
Floats of eight bits are those of PyTorch, where both round in the same way.

At overflow they differ: PyTorch 2.13 saturates in `float8_e4m3fn`, infinities too, and rounds to infinity in
`float8_e5m2`, which here saturates as well.
"""

import numpy as np
import pytest
import torch

from npuc.compiler.layers.float8 import float8_codes, float8_values, round_to_float8
from npuc.dialects.formats import F8E4M3, F8E5M2, SmallFloat

PAIRS = pytest.mark.parametrize(("fmt", "kind"), [(F8E4M3, torch.float8_e4m3fn), (F8E5M2, torch.float8_e5m2)], ids=str)
CODES = np.arange(256, dtype=np.uint8)


@PAIRS
def test_values_of_all_codes(fmt: SmallFloat, kind: torch.dtype) -> None:
    expected = torch.from_numpy(CODES).view(kind).float().numpy()
    assert np.array_equal(float8_values(CODES, fmt), expected, equal_nan=True)


@PAIRS
def test_rounding_to_the_nearest(fmt: SmallFloat, kind: torch.dtype) -> None:
    """Floats of all exponents and signs: random, all values, ties, and the floats beside them."""
    random = np.random.default_rng(0).integers(0, 2**32, 400_000, np.uint32).view(np.float32)
    values = float8_values(CODES, fmt)
    values = np.unique(values[np.isfinite(values)])
    ties = (values[1:] + values[:-1]) / 2
    x = np.concatenate([random, values, ties, np.nextafter(ties, np.float32(0)), np.nextafter(ties, 2 * ties)])
    ours = float8_codes(round_to_float8(x, fmt), fmt)
    theirs = torch.from_numpy(x).to(kind)
    finite = np.isfinite(theirs.float().numpy())
    assert np.array_equal(ours[finite], theirs.view(torch.uint8).numpy()[finite])
    assert finite.mean() > 0.5


@PAIRS
def test_overflow(fmt: SmallFloat, kind: torch.dtype) -> None:
    x = np.array([fmt.largest * 1.2, -3e38, np.inf, -np.inf, np.nan], np.float32)
    theirs = torch.from_numpy(x).to(kind).float().numpy()
    expected = [fmt.largest, -fmt.largest, fmt.largest, -fmt.largest, np.nan]
    assert np.array_equal(round_to_float8(x, fmt), expected, equal_nan=True)
    infinite = [np.inf, -np.inf, np.inf, -np.inf, np.nan]
    assert np.array_equal(theirs, expected if fmt is F8E4M3 else infinite, equal_nan=True)
