"""
A product of two matrices with densities, and what to expect of it where each element is zero independently of others.

    product = SparseProduct("layer", 64, 64, 64, Fraction(1, 10), Fraction(1, 2))
    product.multiplications        # 13107 + 1/5: pairs of elements that are both not zero
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import expm1, log1p
from typing import Literal, get_args

from npuc.compiler.analysis.hetero.classes import FORMATS, MatrixFormat
from npuc.compiler.core.errors import UsageError, did_you_mean

Axis = Literal["batch", "m", "n", "k"]
AXES: tuple[Axis, ...] = get_args(Axis)[1:]
"""Those of each product; several of equal sizes are a batch."""
INDEX_BYTES = POINTER_BYTES = 4
"""Of a coordinate, and of the place where a row or column begins: integers of 32 bits (our choice)."""


@dataclass(frozen=True)
class SparseProduct:
    """
    C[m, n] = A[m, k] B[k, n]; `a` and `b` are densities, `value_bytes` the bytes of a value.

    `a_format` and `b_format` are how the operands lie in memory; None where they are there in whatever format a unit
    takes. There are `batch` such products of other operands, one after the other on a unit; what is said of work and
    bytes is of one of them. `stored` are the shares of the elements of A, B and C that are different ones in memory:
    below 1 where a convolution unfolds an operand, or folds its result, on the way. Raises `UsageError` for sizes,
    densities and formats that no matrix has.
    """

    name: str
    m: int
    n: int
    k: int
    a: Fraction = Fraction(1)
    b: Fraction = Fraction(1)
    value_bytes: Fraction = Fraction(2)
    a_format: MatrixFormat | None = None
    b_format: MatrixFormat | None = None
    batch: int = 1
    stored: tuple[Fraction, Fraction, Fraction] = (Fraction(1), Fraction(1), Fraction(1))

    def __post_init__(self) -> None:
        for axis, size in (("batch", self.batch), ("m", self.m), ("n", self.n), ("k", self.k)):
            if size < 1:
                raise UsageError(f"{self.name}: {axis}: expected at least 1, got {size}")
        for operand, density in (("A", self.a), ("B", self.b)):
            if not 0 < density <= 1:
                raise UsageError(f"{self.name}: density of {operand}: expected above 0 and at most 1, got {density}")
        for operand, format in (("A", self.a_format), ("B", self.b_format)):
            if format is not None and format not in FORMATS:
                raise UsageError(
                    f"{self.name}: format of {operand}: expected {', '.join(FORMATS)}, got '{format}'",
                    hint=did_you_mean(format, FORMATS),
                )

    @cached_property
    def multiplications(self) -> Fraction:
        """Expected pairs of elements that meet and are both not zero: M N K a b."""
        return self.m * self.n * self.k * self.a * self.b

    @cached_property
    def variance(self) -> Fraction:
        """
        The variance of these pairs: over k independent, each the product of the nonzeros of a column of A and of those
        of a row of B, which are independent and binomial.
        """
        in_column, in_row = _second_moment(self.m, self.a), _second_moment(self.n, self.b)
        mean = self.m * self.a * self.n * self.b
        return self.k * (in_column * in_row - mean * mean)

    @cached_property
    def result_nonzeros(self) -> float:
        """Expected elements of C to which at least one pair adds: M N (1 - (1 - a b)^K)."""
        both = float(self.a * self.b)
        share = 1.0 if both == 1 else -expm1(self.k * log1p(-both))
        return self.m * self.n * share

    @cached_property
    def row_variance(self) -> Fraction:
        """The variance of the pairs of one row of A with all of B."""
        mean = self.a * self.n * self.b
        return self.k * (self.a * _second_moment(self.n, self.b) - mean * mean)

    def operand_bytes(self, operand: Literal["a", "b"], format: MatrixFormat) -> Fraction:
        """Expected bytes of an operand in a format."""
        rows, cols, density = (self.m, self.k, self.a) if operand == "a" else (self.k, self.n, self.b)
        values = rows * cols * self.stored["ab".index(operand)] * (1 if format == "dense" else density)
        return matrix_bytes(rows, cols, values, self.value_bytes, format)

    def result_bytes(self, format: MatrixFormat) -> float:
        """Expected bytes of C in a format."""
        if format == "dense":
            return float(self.m * self.n * self.stored[2] * self.value_bytes)
        values = float(self.stored[2]) * self.result_nonzeros
        return float(self.value_bytes + INDEX_BYTES) * values + (self.m + 1) * POINTER_BYTES

    def part(self, axis: Axis, size: int) -> SparseProduct:
        """So many products of a batch, rows of A (m), columns of B (n), or values of what is summed over (k)."""
        match axis:
            case "batch":
                return replace(self, batch=size)
            case "m":
                return replace(self, m=size)
            case "n":
                return replace(self, n=size)
            case "k":
                return replace(self, k=size)

    def size(self, axis: Axis) -> int:
        """The size of an axis."""
        return {"batch": self.batch, "m": self.m, "n": self.n, "k": self.k}[axis]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes that units may share: that of a batch where there is one."""
        return AXES if self.batch == 1 else get_args(Axis)


def matrix_bytes(rows: int, cols: int, values: Fraction, value_bytes: Fraction, format: MatrixFormat) -> Fraction:
    """Bytes of a matrix that stores so many values: alone, or with coordinates, and pointers to lines."""
    if format == "dense":
        return values * value_bytes
    lines = rows if format == "csr" else cols
    return values * (value_bytes + INDEX_BYTES) + (lines + 1) * POINTER_BYTES


def _second_moment(count: int, share: Fraction) -> Fraction:
    """The mean square of a binomial number."""
    return count * share * (1 - share) + (count * share) ** 2
