"""
The kinds of units for C[M, N] = A[M, K] B[K, N], and the formats of operands that each takes.

The five kinds are those that AESPA puts together (Qin et al., "Enabling Flexibility for Sparse Tensor Acceleration via
Heterogeneity", arXiv 2201.08916), recalled: its abstract alone was to be had. What each costs is our choice of the
simplest model of the machine that it is named after: TPU (Jouppi et al., ISCA 2017), EIE (Han et al., ISCA 2016),
ExTensor (Hegde et al., MICRO 2019), OuterSPACE (Pal et al., HPCA 2018), MatRaptor (Srivastava et al., MICRO 2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from npuc.compiler.core.frozen import frozen

UnitKind = Literal["dense", "dense-sparse", "inner", "outer", "row-wise"]
KINDS: tuple[UnitKind, ...] = get_args(UnitKind)
MatrixFormat = Literal["dense", "csr", "csc"]
FORMATS: tuple[MatrixFormat, ...] = get_args(MatrixFormat)
FormatPair = tuple[MatrixFormat, MatrixFormat]
"""Of A and of B."""


@frozen
class UnitClass:
    """A kind of unit: pairs of formats that it takes, that of its result, a machine of the kind, and what it skips."""

    takes: tuple[FormatPair, ...]
    result: MatrixFormat
    like: str
    skips: str


CLASSES: Mapping[UnitKind, UnitClass] = {
    "dense": UnitClass((("dense", "dense"),), "dense", "TPU", "nothing"),
    "dense-sparse": UnitClass(
        (("dense", "csc"), ("csr", "dense")), "dense", "EIE", "zeros of the operand that is compressed"
    ),
    "inner": UnitClass((("csr", "csc"),), "csr", "ExTensor", "zeros of the denser operand, and products of zeros"),
    "outer": UnitClass((("csc", "csr"),), "csr", "OuterSPACE", "zeros of both operands; partial sums are merged later"),
    "row-wise": UnitClass((("csr", "csr"),), "csr", "MatRaptor", "zeros of both operands; rows are merged"),
}


def pairs_text(kind: UnitKind) -> str:
    """The pairs of formats that a kind takes, in words."""
    return " or ".join(f"{a} x {b}" for a, b in CLASSES[kind].takes)
