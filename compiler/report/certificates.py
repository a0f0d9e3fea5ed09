"""Certificates: the traffic of a layer's contractions beside its proved lower bounds, as frozen data."""

from __future__ import annotations

import msgspec

from npuc.compiler.report.rows import Phase


class CertifiedProducts(msgspec.Struct, frozen=True, kw_only=True):
    """
    The traffic of a layer's products over its lower bound for all programs, for one of their `repeat` runs, in bytes.

    `rows` are the indices of their rows: one, or those of dX and dW where they run one after the other. `bound_bytes`
    is the larger of both bounds.
    """

    phase: Phase
    rows: list[int]
    repeat: int
    compulsory_bytes: int
    capacity_bound_bytes: int
    bound_bytes: int
    reached_bytes: int
    gap_bytes: int
    optimal: bool


class LayerCertificate(msgspec.Struct, frozen=True, kw_only=True):
    """
    The traffic of a layer's products over its lower bound: sums over all runs of its `products`, in bytes.

    `gap` is `gap_bytes` over `bound_bytes`, None if that is 0. `optimal`: all of them move no more than their bounds.
    """

    layer: str
    compulsory_bytes: int
    capacity_bound_bytes: int
    bound_bytes: int
    reached_bytes: int
    gap_bytes: int
    gap: float | None
    optimal: bool
    products: list[CertifiedProducts]
