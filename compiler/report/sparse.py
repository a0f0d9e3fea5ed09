"""The section of a contraction's row about sparse operands, apart from the other sections (`sections.py`)."""

from __future__ import annotations

from npuc.compiler.report.sections import Section


class SparseFacts(Section, frozen=True):
    """
    Products of sparse operands: the density of each operand, in the order of the nest's inputs; how many MACs are
    carried out, rounded up, and in how many passes through multipliers; the time of the products as a share of that of
    dense ones; the bytes of the sparse operands as they are stored, metadata included, and of dense ones.
    """

    operand_densities: list[float]
    carried_macs: int
    carried_passes: float
    time_share: float
    sparse_bytes: int
    dense_bytes: int
