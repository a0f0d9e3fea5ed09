"""
What a multiplier array makes of zeros in sparse operands (`array.skips`): how many products it carries out, and how
long all of them take.

    array.skips      carried out           time, as a share of all products            source
    none             all                   1
    gated            both are there        1: a multiplier rests beside a zero         Eyeriss, Chen et al., JSSC 2017
    structured       N/M of them           N/M                                         sparse tensor cores, Mishra 2021
    weights          those of the sparser  its density: no imbalance                   ideal, one side
    column-balance   those of the sparser  the largest column of a pass                Procrustes, Yang, MICRO 2020
    window           both are there        cycles of lanes that choose in a window     TensorDash, Mahmoud, MICRO 2020
    both             both are there        product of densities: no imbalance          ideal, two sides

"Both are there" is the product of the densities: zeros of the two operands are independent. `structured` skips the
zeros of an operand in N:M form where it is the stationary one, which selects what streams by it; any other sparse
operand is multiplied as a dense one. `column-balance` and `weights` skip the zeros of one operand of each product, the
sparser one; `column-balance` counts independent zeros in slices of `slice` values, one on each column of the array,
which wait for the slowest of them (`npuc.compiler.analysis.sparsity.procrustes`); that a slice has 256 values, a
register file, is our choice. `window` simulates `lanes` lanes that choose among the pairs of `lookahead` rows
(`npuc.compiler.analysis.sparsity.tensordash`); each stream of pairs advances by itself, which is our choice.

All of them read every format of `npuc.dialects.sparse_formats`, and take it apart at the edge of the array in no time
of its own: what a format costs is the traffic of its metadata. The elements of a row-stationary array are not skipped
over, only gated. A share is never below the density of the products that are carried out, and 1 for dense operands.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Literal

from npuc.compiler.core.frozen import frozen
from npuc.dialects.products import DENSE, Factors

Skips = Literal["none", "gated", "structured", "weights", "column-balance", "window", "both"]
PLACES = 1 << 16
"""Shares that are estimated are rounded up to a multiple of one part in so many."""
STEPS, FINE_STEPS = 64, 1024
"""Balanced columns are sampled at multiples of 1 / STEPS, below 1 / 16 of 1 / FINE_STEPS, and interpolated between."""
_ALL = Fraction(1)


@frozen
class Skipping:
    """
    How an array skips: `columns` work on slices of `slice` values, balanced by halves or not; `lanes` choose in a
    window of `lookahead` rows of pairs.
    """

    scheme: Skips = "none"
    columns: int = 1
    slice: int = 256
    balance: bool = False
    lanes: int = 16
    lookahead: int = 3


NO_SKIPS = Skipping()
"""Of an array that multiplies zeros."""


@frozen
class Shares:
    """Of all products of a statement: the share that is carried out, and the time of all as a share of the dense."""

    carried: Fraction = _ALL
    time: Fraction = _ALL


@lru_cache(maxsize=4096)
def shares(factors: Factors, stationary: int | None, skipping: Skipping) -> Shares:
    """
    What an array makes of the zeros of products of these factors, of which number `stationary` (0 or 1) is the
    stationary operand; None where neither is.
    """
    if factors == DENSE:
        return Shares()
    left, right = (_ALL if one is None else one.density for one in factors)
    sparser = min(left, right)
    match skipping.scheme:
        case "none":
            return Shares()
        case "gated":
            return Shares(left * right)
        case "structured":
            own = None if stationary is None else factors[stationary]
            skipped = own.density if own is not None and own.pattern is not None else _ALL
            return Shares(skipped, skipped)
        case "weights":
            return Shares(sparser, sparser)
        case "column-balance":
            return Shares(sparser, _on_columns(sparser, skipping))
        case "window":
            from npuc.compiler.analysis.sparsity import tensordash

            found = tensordash.work_factor(float(left), float(right), skipping.lanes, skipping.lookahead)
            return Shares(left * right, _rounded(found.mean, left * right))
        case "both":
            return Shares(left * right, left * right)


def _on_columns(density: Fraction, skipping: Skipping) -> Fraction:
    """The largest column of a pass over a dense one: exact without balance, interpolated between samples with it."""
    if density == 1 or not skipping.balance:
        from npuc.compiler.analysis.sparsity import procrustes

        found = procrustes.work_factor(float(density), skipping.slice, skipping.columns)
        return _rounded(found.mean, density)
    steps = STEPS if density >= Fraction(1, 16) else FINE_STEPS
    low = int(density * steps)
    share = density * steps - low
    below, above = (_balanced(Fraction(point, steps), skipping.slice, skipping.columns) for point in (low, low + 1))
    return _rounded(float((1 - share) * Fraction(below) + share * Fraction(above)), density)


@lru_cache(maxsize=4096)
def _balanced(density: Fraction, size: int, columns: int) -> float:
    if density in (0, 1):
        return float(density)
    from npuc.compiler.analysis.sparsity import procrustes

    return procrustes.work_factor(float(density), size, columns, balanced=True).mean


def _rounded(share: float, least: Fraction) -> Fraction:
    """An estimated share as a fraction, rounded up; at least `least`, and at most 1."""
    return min(_ALL, max(least, Fraction(ceil(share * PLACES), PLACES)))
