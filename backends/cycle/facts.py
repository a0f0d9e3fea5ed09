"""Sections of `native` that the backend `cycle` alone writes and reads, beside those of the report."""

from __future__ import annotations

from npuc.compiler.report.sections import Section


class ArrayFacts(Section, frozen=True):
    """Tiles and folds of all cores; the cycles in which the busiest core's array fills and drains."""

    tiles: int
    folds: int
    fill_drain_cycles: int


class RegisterFedFacts(Section, frozen=True):
    """Instructions of an array whose stages overlap, and their groups with the same weights, of all cores."""

    instructions: int
    weight_groups: int


class WeightReuseFacts(Section, frozen=True):
    """How many instructions follow each other on the same weights, on average."""

    weight_reuse: float


class ReloadFacts(Section, frozen=True):
    """
    Changes of the tile that stays in the array: of all cores, and the cycles that those of the busiest take.

    `held` is 1 where the operation before left the first tile there.
    """

    reloads: int
    reload_cycles: int
    held: int


class TransposeFacts(Section, frozen=True):
    """What transposes through DRAM would move, and the cycles of the product with them."""

    transpose_bytes: int
    explicit_cycles: int


class PoolFacts(Section, frozen=True):
    """The most that a product's tiles take of the pool (memory.policy "lru")."""

    peak_spm_bytes: int


class InterleavedFacts(Section, frozen=True):
    """Contractions that run in turn: how many, and the schedule of each as text."""

    streams: int
    schedules: list[str]


class StreamFacts(Section, frozen=True):
    """Vector work or a move: the name of the train operation that it computes."""

    work: str


class RereadFacts(Section, frozen=True):
    """Operands that come from DRAM twice; `group_bytes` would have to be resident for them to come once."""

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
