"""Sections of `native` that the backend `cycle` alone writes and reads, beside those of the report."""

from __future__ import annotations

from npuc.compiler.report.sections import Section


class ArrayFacts(Section, frozen=True):
    """Tiles and folds of all cores; the cycles in which the busiest core's array fills and drains."""

    tiles: int
    folds: int
    fill_drain_cycles: int


class RegisterFedFacts(Section, frozen=True):
    """Instructions of a register-fed array, and their groups on the same weights, of all cores."""

    instructions: int
    weight_groups: int


class WeightReuseFacts(Section, frozen=True):
    """The average number of consecutive instructions on the same weights."""

    weight_reuse: float


class ReloadFacts(Section, frozen=True):
    """
    Reloads of the stationary tile: of all cores, and the cycles that those of the busiest core take.

    `held` is 1 if the operation before left the first tile in the array.
    """

    reloads: int
    reload_cycles: int
    held: int


class TransposeFacts(Section, frozen=True):
    """The traffic of explicit transposes through DRAM, and the cycles of the product with them."""

    transpose_bytes: int
    explicit_cycles: int


class PoolFacts(Section, frozen=True):
    """The peak size of a contraction's tiles in the pool (memory.policy "lru")."""

    peak_spm_bytes: int


class InterleavedFacts(Section, frozen=True):
    """Contractions that run round-robin: how many, and the schedule of each as text."""

    streams: int
    schedules: list[str]


class StreamFacts(Section, frozen=True):
    """The name of the train operation that vector work or a move computes."""

    work: str


class RereadFacts(Section, frozen=True):
    """Operands that are read from DRAM twice; with `group_bytes` of residency they would be read once."""

    read_twice: list[str]
    read_twice_bytes: int
    group_bytes: int


class CertificateFacts(Section, frozen=True):
    """A row's certificate (docs/bounds.md), in bytes of DRAM; `gap` is the share of the bound, None where that is 0."""

    compulsory_bytes: int
    capacity_bound_bytes: int
    reached_bytes: int
    gap_bytes: int
    gap: float | None
    optimal: bool


class ProductFacts(Section, frozen=True):
    """Under cycle.compat: how many products SCALE-Sim counts for an operation."""

    products: int
