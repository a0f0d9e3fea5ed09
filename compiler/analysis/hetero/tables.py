"""
Cycles, bytes and energy of a unit for many sizes of an axis at once: what `one_share` says of each, in arrays.

    table = share_table(machine, unit, product, "n", np.array([64, 128]))
    table.cycles, table.moved, table.joules

The search over splits asks for a hundred sizes of each product on each unit. What it finds is costed by `one_share`
once more; tests compare the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, isqrt, log1p
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from npuc.compiler.analysis.hetero.classes import CLASSES, FormatPair, MatrixFormat
from npuc.compiler.analysis.hetero.product import INDEX_BYTES, POINTER_BYTES, Axis, SparseProduct
from npuc.compiler.analysis.hetero.traffic import FITS, SUM_BYTES
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine, formats_on

Numbers: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ShareTable:
    """Cycles, bytes of DRAM and joules without idle power, an entry for each size of an axis."""

    cycles: Numbers
    moved: Numbers
    joules: Numbers


def share_table(
    machine: UnitMachine, unit: SparseUnit, product: SparseProduct, axis: Axis, sizes: npt.NDArray[np.int64]
) -> ShareTable:
    """The shares of a unit that takes the product; all sizes are at least 1."""
    parts = _Parts(product, axis, sizes)
    tables = [_in_formats(machine, unit, parts, pair, added=axis == "k") for pair in formats_on(unit, product)]
    best = tables[0]
    for other in tables[1:]:
        # of several pairs of formats the one of the fewest cycles, and then bytes, as `unit_cost` takes it
        better = (other.cycles < best.cycles) | ((other.cycles == best.cycles) & (other.moved < best.moved))
        best = ShareTable(
            np.where(better, other.cycles, best.cycles),
            np.where(better, other.moved, best.moved),
            np.where(better, other.joules, best.joules),
        )
    return best


class _Parts:
    """Sizes, densities and expectations of the parts of a product."""

    def __init__(self, product: SparseProduct, axis: Axis, sizes: npt.NDArray[np.int64]):
        ones = np.ones(len(sizes))
        own: dict[Axis, Numbers] = {one: product.size(one) * ones for one in ("batch", "m", "n", "k")}
        own[axis] = sizes.astype(np.float64)
        self.batch, self.m, self.n, self.k = own["batch"], own["m"], own["n"], own["k"]
        self.a, self.b, self.value = float(product.a), float(product.b), float(product.value_bytes)
        self.stored = tuple(map(float, product.stored))
        both = self.a * self.b
        self.points = self.m * self.n * self.k
        self.pairs = self.points * both
        self.nonzeros = self.m * self.n * (1.0 if both == 1 else -np.expm1(self.k * log1p(-both)))

    def operand(self, number: int, format: MatrixFormat) -> Numbers:
        """Bytes of A or B."""
        rows, cols, density = (self.m, self.k, self.a) if number == 0 else (self.k, self.n, self.b)
        values = rows * cols * self.stored[number]
        if format == "dense":
            return values * self.value
        lines = rows if format == "csr" else cols
        return values * density * (self.value + INDEX_BYTES) + (lines + 1) * POINTER_BYTES

    def result(self, format: MatrixFormat) -> Numbers:
        """Bytes of C."""
        if format == "dense":
            return self.m * self.n * self.stored[2] * self.value
        return (self.value + INDEX_BYTES) * self.nonzeros * self.stored[2] + (self.m + 1) * POINTER_BYTES

    def row_share(self, pes: int) -> Numbers:
        """The share of all steps that the element with most rows has."""
        rows = np.ceil(self.m / pes)
        rank = np.array([_rank(int(one)) for one in self.m - (rows - 1) * pes])
        in_row = self.n * self.b * (1 - self.b) + (self.n * self.b) ** 2
        variance = self.k * (self.a * in_row - (self.a * self.n * self.b) ** 2)
        return (rows * self.pairs / self.m + np.sqrt(rows * np.maximum(variance, 0.0)) * rank) / self.pairs


@lru_cache(maxsize=1 << 14)
def _rank(fullest: int) -> float:
    return NormalDist().inv_cdf((fullest - 0.375) / (fullest + 0.25)) if fullest > 1 else 0.0


def _in_formats(
    machine: UnitMachine, unit: SparseUnit, parts: _Parts, formats: FormatPair, *, added: bool
) -> ShareTable:
    a, b = parts.operand(0, formats[0]), parts.operand(1, formats[1])
    result = CLASSES[unit.kind].result
    c = parts.result(result)
    cycles, operations, accesses = _work(unit, parts, formats)
    traffic = _traffic(unit, parts, a, b) + c
    buffer = accesses + traffic
    moved, sums = traffic, np.zeros_like(c)
    if added:
        sums = parts.m * parts.n if result == "dense" else parts.nonzeros
        cycles, moved = cycles + sums / unit.pes, moved + c
    energy = (operations + sums) * unit.mac_pj + buffer * unit.buffer_pj_per_byte + moved * machine.dram_pj_per_byte
    return ShareTable(parts.batch * cycles, parts.batch * moved, 1e-12 * parts.batch * energy)


def _work(unit: SparseUnit, parts: _Parts, formats: FormatPair) -> tuple[Numbers, Numbers, Numbers]:
    """Steps of the longest element, operations, and bytes of the buffer that steps read and write."""
    value, entry = parts.value, parts.value + INDEX_BYTES
    match unit.kind:
        case "dense":
            steps = parts.points
            return steps / unit.pes, steps, 2 * value * steps / max(1, isqrt(unit.pes))
        case "dense-sparse":
            steps = parts.points * (parts.a if formats[0] != "dense" else parts.b)
            return steps / unit.pes, steps, entry * steps
        case "inner":
            steps = parts.points * max(parts.a, parts.b)
            return steps / unit.pes, parts.pairs, 2 * INDEX_BYTES * steps + 2 * value * parts.pairs
        case "outer" | "row-wise":
            steps = parts.pairs + np.maximum(0.0, parts.pairs - parts.nonzeros)
            share = 1 / unit.pes if unit.kind == "outer" else parts.row_share(unit.pes)
            return steps * share, steps, 3 * entry * parts.pairs


def _traffic(unit: SparseUnit, parts: _Parts, a: Numbers, b: Numbers) -> Numbers:
    """Bytes of operands and of spilled sums."""
    size, entry = unit.buffer_bytes, parts.value + INDEX_BYTES
    match unit.kind:
        case "outer":
            return a + b + 2 * np.maximum(0.0, entry * parts.pairs - size)
        case "row-wise":
            sums = entry * parts.pairs / parts.m
            spilled = 2 * parts.m * np.maximum(0.0, sums - size)
            stays = np.minimum(1.0, np.maximum(0.0, size - sums) / b)
            used = 1.0 if parts.a == 1 else -np.expm1(parts.m * log1p(-parts.a))
            return a + b * (stays * used + (1 - stays) * parts.m * parts.a) + spilled
        case _:
            side = isqrt(size // SUM_BYTES)
            square = np.ceil(parts.n / side) * a + np.ceil(parts.m / side) * b
            lines_of_a, lines_of_b = a + _passes(parts.m, a, size) * b, _passes(parts.n, b, size) * a + b
            return np.minimum(square, np.minimum(lines_of_a, lines_of_b))


def _passes(lines: Numbers, size: Numbers, buffer_bytes: int) -> Numbers:
    """How often the other operand passes by where lines of one stay; infinitely where none fits."""
    fit = np.floor(buffer_bytes / (size / lines) * FITS)
    return np.where(fit > 0, np.ceil(lines / np.maximum(fit, 1.0)), inf)
