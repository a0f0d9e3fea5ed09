"""
What formats of sparse operands leave of a program's products, whatever machine runs it.

Of a product of one sparse operand its density is left, of two the product of their densities, as zeros of the two are
independent. An operand in N:M form counts only where the product sums along an axis of its groups: N of each M terms of
a sum are left then, which is what recipes of N:M training count. Read along another axis its zeros lie anywhere, and
none is skipped. So a 2:4 weight leaves 1/2 of a forward product, all of dX unless the mask is N:M along both axes, and
all of dW, in which the weight does not take part: 5/6 of three equal products, or with such a mask 2/3.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.widths import with_factors
from npuc.dialects.products import Factors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xdsl.ir import Operation


@dataclass(frozen=True)
class ProductCounts:
    """The MACs of a dense step, those of products of which a format leaves a part, and all that are left of them."""

    macs: int = 0
    sparse: int = 0
    left: Fraction = Fraction(0)

    def __add__(self, other: ProductCounts) -> ProductCounts:
        """The counts of both."""
        return ProductCounts(self.macs + other.macs, self.sparse + other.sparse, self.left + other.left)

    def times(self, steps: int) -> ProductCounts:
        """The counts of so many steps."""
        return ProductCounts(self.macs * steps, self.sparse * steps, self.left * steps)

    @property
    def sparse_share(self) -> Fraction:
        """The share of MACs that are of sparse products; 0 without any."""
        return Fraction(self.sparse, self.macs) if self.macs else Fraction(0)

    @property
    def left_share(self) -> Fraction:
        """The share of MACs that is left; 1 without any."""
        return self.left / self.macs if self.macs else Fraction(1)


NO_PRODUCTS = ProductCounts()
"""The counts of a program without products."""


def left_of(factors: Factors) -> Fraction:
    """The share of the products of these factors that their formats leave."""
    own = (one for one in factors if one is not None)
    # Axes without a pattern: groups that lie along another axis than the one that is summed.
    return prod((one.density for one in own if one.pattern is not None or not one.axes), start=Fraction(1))


def counted_products(ops: Iterable[Operation]) -> ProductCounts:
    """The counts of the contractions among operations."""
    found = NO_PRODUCTS
    for op in ops:
        if isinstance(op, ContractOp):
            nest = with_factors(op.nest, op)
            for statement in nest.statements:
                left = left_of(statement.factors)
                found += ProductCounts(nest.points, nest.points if left < 1 else 0, nest.points * left)
    return found
