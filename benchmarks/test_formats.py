"""
How long rounding a million values to each format takes, beside one exponential of them.

    pytest benchmarks/test_formats.py --benchmark-columns=min,mean --benchmark-sort=name
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from npuc.compiler.layers.base import Array
from npuc.compiler.layers.float8 import round_to_float8
from npuc.compiler.layers.quantize import improvement, quantize_blocks
from npuc.compiler.layers.scaled import quantize_scaled, scale_of
from npuc.compiler.layers.stochastic import Rounding
from npuc.dialects.formats import F8E4M3, INT8, BlockFloat

X = np.random.default_rng(0).standard_normal((1000, 1000)).astype(np.float32)
LOW, HIGH = BlockFloat(2, 16, 3), BlockFloat(4, 16, 3)


def scaled(fmt: Any, rounding: Rounding) -> Array:
    return quantize_scaled(X, fmt, scale_of(X, fmt), rounding)


WORK: dict[str, Callable[[Rounding], Array]] = {
    "bfp-rows": lambda rounding: quantize_blocks(X, HIGH, 1, rounding),
    "bfp-columns": lambda rounding: quantize_blocks(X, HIGH, 0, rounding),
    "f8e4m3": lambda rounding: round_to_float8(X, F8E4M3, rounding),
    "f8e4m3-codes": lambda rounding: scaled(F8E4M3, rounding),
    "int8-codes": lambda rounding: scaled(INT8, rounding),
}


@pytest.mark.parametrize("rounding", ["nearest", "stochastic"])
@pytest.mark.parametrize("name", list(WORK))
def test_rounding(benchmark: Any, name: str, rounding: Rounding) -> None:
    """A million values, row by row."""
    assert benchmark(WORK[name], rounding).shape == X.shape


def test_improvement(benchmark: Any) -> None:
    """What FAST's controller asks of a tensor."""
    assert benchmark(improvement, X, LOW, HIGH, 1) > 0


def test_exponential(benchmark: Any) -> None:
    """A pass of numpy to compare with."""
    assert benchmark(np.exp, X).shape == X.shape
