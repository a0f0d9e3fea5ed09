"""
The bytes between a unit and DRAM, by what its buffer holds.

dense, dense-sparse, inner: the least of three ways: lines of A stay while B passes by, lines of B stay while A does, or
a square of sums stays while both do. outer: operands pass by once, and partial sums that the buffer has no room for are
written and read again. row-wise: A passes by once; of the rows of B as much as fits stays, others come for every
nonzero of A that wants them; a row of sums that does not fit is written and read again.

What stays may fill the whole buffer, and lines are of their expected length (our choices). There is no search: each
number is a closed form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, expm1, floor, inf, isqrt, log1p

from npuc.compiler.analysis.hetero.classes import CLASSES, FormatPair, UnitKind
from npuc.compiler.analysis.hetero.product import INDEX_BYTES, SparseProduct

SUM_BYTES = 4
"""Of a sum in a buffer: 32 bits."""
FITS = 1 + 1e-12
"""What just fits a buffer does so, however its bytes are rounded."""


@dataclass(frozen=True)
class UnitTraffic:
    """Expected bytes by what they are: reads of A and B, writes of C, and partial sums that were spilled."""

    a: float
    b: float
    c: float
    spilled: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.a + self.b + self.c + self.spilled

    @property
    def written(self) -> float:
        """Of these the bytes that are written: C, and partial sums once."""
        return self.c + self.spilled / 2

    def times(self, batch: int) -> UnitTraffic:
        """The traffic of so many products."""
        return UnitTraffic(self.a * batch, self.b * batch, self.c * batch, self.spilled * batch)


def unit_traffic(kind: UnitKind, product: SparseProduct, formats: FormatPair, buffer_bytes: int) -> UnitTraffic:
    """The traffic of a unit with a buffer of at least a sum."""
    a, b = float(product.operand_bytes("a", formats[0])), float(product.operand_bytes("b", formats[1]))
    c = product.result_bytes(CLASSES[kind].result)
    entry = float(product.value_bytes + INDEX_BYTES)
    match kind:
        case "outer":
            partial = entry * float(product.multiplications)
            return UnitTraffic(a, b, c, 2 * max(0.0, partial - buffer_bytes))
        case "row-wise":
            return _row_wise(product, UnitTraffic(a, b, c, 0.0), entry, buffer_bytes)
        case _:
            times_a, times_b = min(_ways(product, a, b, buffer_bytes), key=lambda way: way[0] * a + way[1] * b)
            return UnitTraffic(times_a * a, times_b * b, c, 0.0)


def _ways(product: SparseProduct, a: float, b: float, buffer_bytes: int) -> Iterator[tuple[float, float]]:
    """How often A and B pass by: where a square of sums stays, lines of A, or lines of B."""
    side = isqrt(buffer_bytes // SUM_BYTES)
    yield ceil(product.n / side), ceil(product.m / side)
    yield 1, _passes(product.m, a, buffer_bytes)
    yield _passes(product.n, b, buffer_bytes), 1


def _passes(lines: int, size: float, buffer_bytes: int) -> float:
    """How often the other operand passes by where lines of one stay, as many as fit; infinitely where none does."""
    fit = floor(buffer_bytes / (size / lines) * FITS)
    return ceil(lines / fit) if fit else inf


def _row_wise(product: SparseProduct, once: UnitTraffic, entry: float, buffer_bytes: int) -> UnitTraffic:
    sums = entry * float(product.multiplications / product.m)
    spilled = 2 * product.m * max(0.0, sums - buffer_bytes)
    stays = min(1.0, max(0.0, buffer_bytes - sums) / once.b)
    asked = float(product.m * product.a)
    used = 1.0 if product.a == 1 else -expm1(product.m * log1p(-float(product.a)))
    return UnitTraffic(once.a, once.b * (stays * used + (1 - stays) * asked), once.c, spilled)
