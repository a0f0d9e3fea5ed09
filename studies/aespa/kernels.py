"""The products of the study: sizes, densities, and where they are from."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import cast

from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.studies.aespa.settings import KernelGroup

FILE = Path(__file__).parent / "kernels.csv"


@dataclass(frozen=True)
class Kernel:
    """A product of the study and the source of its sizes."""

    product: SparseProduct
    group: KernelGroup
    source: str


@cache
def all_kernels() -> tuple[Kernel, ...]:
    """The products of the file, in its order."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(_kernel(row) for row in csv.DictReader(lines))


def kernels_of(preset: str) -> tuple[Kernel, ...]:
    """The products of a group, or of all."""
    return tuple(one for one in all_kernels() if preset == "all" or one.group == preset)


def _kernel(row: dict[str, str]) -> Kernel:
    m, k, n = int(row["m"]), int(row["k"]), int(row["n"])
    product = SparseProduct(row["kernel"], m, n, k, _density(row["a"], m * k), _density(row["b"], k * n))
    return Kernel(product, cast("KernelGroup", row["group"]), row["source"])


def _density(text: str, elements: int) -> Fraction:
    """A density as a decimal number, or `nnz:` and the nonzeros."""
    return Fraction(int(text[4:]), elements) if text.startswith("nnz:") else Fraction(text)
