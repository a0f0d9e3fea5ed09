"""
The steps of a unit: what its elements do one after the other, its expectation and its spread over independent masks.

dense         a multiplication of every pair: M N K
dense-sparse  one of every nonzero of the compressed operand with every line of the other: M nnz(B), or N nnz(A)
inner         for each element of C the list of the denser operand is walked and looked up in that of the other, a
              coordinate a step: N nnz(A) where A is the denser one, else M nnz(B); found pairs are multiplied meanwhile
outer         a multiplication of every pair of nonzeros, and an addition for each that adds to a sum that is there
row-wise      the same; rows of A are dealt to elements, so that the one with most to do ends last

A pair that is the first of its element of C needs no addition: of P pairs P - nnz(C) are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import NormalDist

from npuc.compiler.analysis.hetero.classes import FormatPair, UnitKind
from npuc.compiler.analysis.hetero.product import SparseProduct


@dataclass(frozen=True)
class UnitWork:
    """
    Expected numbers: multiplications, additions of a merge, steps in all, and steps of the element that has most.

    `deviation` is the standard deviation over masks of what is counted: multiplications, for inner the coordinates that
    are walked.
    """

    multiplications: Fraction
    merges: float
    steps: float
    longest: float
    deviation: float

    def times(self, batch: int) -> UnitWork:
        """The work of so many products of independent masks, one after the other."""
        return UnitWork(
            self.multiplications * batch,
            self.merges * batch,
            self.steps * batch,
            self.longest * batch,
            self.deviation * sqrt(batch),
        )


def unit_work(kind: UnitKind, product: SparseProduct, formats: FormatPair, pes: int) -> UnitWork:
    """The work of a unit with so many elements, on operands in formats that it takes."""
    match kind:
        case "dense":
            every = Fraction(product.m * product.n * product.k)
            return _even(every, every, Fraction(0), pes)
        case "dense-sparse":
            count, variance = _walked(product, of_a=formats[0] != "dense")
            return _even(count, count, variance, pes)
        case "inner":
            count, variance = _walked(product, of_a=product.a >= product.b)
            return _even(product.multiplications, count, variance, pes)
        case "outer" | "row-wise":
            merges = max(0.0, float(product.multiplications) - product.result_nonzeros)
            steps = float(product.multiplications) + merges
            longest = steps / pes if kind == "outer" else steps * _share_of_longest(product, pes)
            return UnitWork(product.multiplications, merges, steps, longest, sqrt(product.variance))


def _even(multiplications: Fraction, steps: Fraction, variance: Fraction, pes: int) -> UnitWork:
    """Steps that are dealt to elements evenly."""
    return UnitWork(multiplications, 0.0, float(steps), float(steps / pes), sqrt(variance))


def _walked(product: SparseProduct, *, of_a: bool) -> tuple[Fraction, Fraction]:
    """Nonzeros of an operand, each for every line of the other one: mean and variance."""
    size, density, times = (
        (product.m * product.k, product.a, product.n) if of_a else (product.k * product.n, product.b, product.m)
    )
    return times * size * density, times * times * size * density * (1 - density)


def _share_of_longest(product: SparseProduct, pes: int) -> float:
    """
    The share of all steps that the element with most has, whole rows of A dealt to elements in turn.

    The expected largest of so many normal numbers, by Blom's approximation of its rank; an estimate, as rows are no
    normal numbers and share the nonzeros of B.
    """
    rows = -(-product.m // pes)
    fullest = product.m - (rows - 1) * pes
    mean, deviation = float(product.multiplications / product.m), sqrt(product.row_variance)
    rank = NormalDist().inv_cdf((fullest - 0.375) / (fullest + 0.25)) if fullest > 1 else 0.0
    return (rows * mean + sqrt(rows) * deviation * rank) / float(product.multiplications)
