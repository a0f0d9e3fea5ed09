"""Units walked step by step on real masks, written without the formulas of the model."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.hetero.product import SparseProduct

Mask = npt.NDArray[np.bool_]


def masks_of(product: SparseProduct, random: np.random.Generator) -> tuple[Mask, Mask]:
    """Where A and B are not zero."""
    a = random.random((product.m, product.k)) < float(product.a)
    b = random.random((product.k, product.n)) < float(product.b)
    return a, b


def walk_dense(a: Mask, b: Mask) -> int:
    """Every pair."""
    return sum(1 for _ in np.ndindex(a.shape[0], b.shape[1], a.shape[1]))


def walk_compressed_b(a: Mask, b: Mask) -> int:
    """Columns of B as lists of rows; each is multiplied by every row of A, zeros of A included."""
    lists = [[k for k in range(len(b)) if b[k, n]] for n in range(b.shape[1])]
    return sum(len(rows) for rows in lists for _ in range(len(a)))


def walk_compressed_a(a: Mask, b: Mask) -> int:
    """Rows of A as lists of columns; each is multiplied by every column of B."""
    return walk_compressed_b(b.T, a.T)


def walk_inner(a: Mask, b: Mask, *, of_a: bool) -> tuple[int, int]:
    """For each element of C the coordinates of one list, and how many are found in the other."""
    walked = found = 0
    for m in range(len(a)):
        for n in range(b.shape[1]):
            row = {k for k in range(len(b)) if a[m, k]}
            column = {k for k in range(len(b)) if b[k, n]}
            leader, other = (row, column) if of_a else (column, row)
            for k in leader:
                walked += 1
                found += k in other
    return walked, found


def walk_outer(a: Mask, b: Mask) -> tuple[int, int, int]:
    """Products of columns and rows, of which those that fall on an element that is there are added; nonzeros of C."""
    products = added = 0
    present: set[tuple[int, int]] = set()
    for k in range(len(b)):
        for m in np.flatnonzero(a[:, k]):
            for n in np.flatnonzero(b[k]):
                products += 1
                added += (int(m), int(n)) in present
                present.add((int(m), int(n)))
    return products, added, len(present)


def walk_rows(a: Mask, b: Mask, pes: int) -> tuple[int, int, int]:
    """Rows dealt to elements in turn: products, additions, and the steps of the element that has most."""
    busy = [0] * pes
    products = added = 0
    for m in range(len(a)):
        row: set[int] = set()
        for k in np.flatnonzero(a[m]):
            for n in np.flatnonzero(b[k]):
                products += 1
                busy[m % pes] += 1
                if int(n) in row:
                    added += 1
                    busy[m % pes] += 1
                row.add(int(n))
    return products, added, max(busy)


SMALL = (
    SparseProduct("even", 7, 6, 8, Fraction(1, 2), Fraction(1, 3)),
    SparseProduct("sparse", 9, 8, 12, Fraction(1, 10), Fraction(1, 6)),
    SparseProduct("long", 3, 4, 30, Fraction(1, 5), Fraction(3, 5)),
    SparseProduct("dense a", 6, 9, 5, Fraction(1), Fraction(1, 4)),
)
