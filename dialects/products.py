"""
What a product takes of a multiplier, as plain data: passes, and how full its factors are.

A product takes whole passes through a multiplier (`widths.py`), or on a machine that skips products of zeros a share of
them on average: a `Fraction`, which may be below 1. Cycles are whole wherever they are counted: a run of products one
after another takes its passes rounded up (`whole_cycles`), so that it takes at least a cycle.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from npuc.compiler.core.frozen import frozen

if TYPE_CHECKING:
    import numpy as np

    Integers: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    Count = TypeVar("Count", int, Integers)
else:
    Count = TypeVar("Count")

Passes: TypeAlias = int | Fraction
"""Passes through a multiplier that a product takes on average; above 0."""


def whole_cycles(passes: Passes, products: Count) -> Count:
    """The cycles in which a multiplier does so many products one after another: their passes, rounded up."""
    return -(-passes.numerator * products // passes.denominator)


@frozen
class SparseFactor:
    """
    A factor of products that is stored sparse, and its density, in (0, 1).

    `pattern` is (n, m) where at most n of each m values along one of `axes` are kept, None of any other format, and of
    a product that sums along none of them.
    """

    density: Fraction
    pattern: tuple[int, int] | None = None
    axes: tuple[int, ...] = ()


Factors: TypeAlias = tuple[SparseFactor | None, SparseFactor | None]
"""The left and right factor of a statement's products; None for a dense one."""
DENSE: Factors = (None, None)
