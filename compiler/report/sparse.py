"""Sections of rows apart from the others (`sections.py`): about sparse operands, and about groups of layers."""

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


class GroupFacts(Section, frozen=True):
    """
    An operation of a group that runs by micro-batches: the number of the group, its micro-batch and their number.

    A group that walks rows of a sample says how many rows of its results a band has, how many bands there are, and what
    becomes of rows that two bands read. The first row of a group also has its layers, how many operations it has, and
    what it saved.
    """

    group: int
    micro_batch: int
    micro_batches: int
    band_rows: int | None = None
    bands: int | None = None
    halo: str | None = None
    group_layers: list[str] | None = None
    group_operations: int | None = None
    saved_cycles: int | None = None
    saved_bytes: int | None = None
