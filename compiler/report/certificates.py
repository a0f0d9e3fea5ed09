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
    """`forward`, `dx`, `dw`; `dxdw` of both gradients together"""
    rows: list[int]
    """the rows of the products"""
    repeat: int
    """how often they run"""
    compulsory_bytes: int
    """every input that is used read once, every result written once"""
    capacity_bound_bytes: int
    """what a scratchpad of this size makes necessary"""
    bound_bytes: int
    """the larger of both"""
    reached_bytes: int
    """what the products move"""
    gap_bytes: int
    """what they move above the bound: at most so much could be saved"""
    optimal: bool
    """whether they move no more than the bound"""


class LayerCertificate(msgspec.Struct, frozen=True, kw_only=True):
    """
    The traffic of a layer's products over its lower bound: sums over all runs of its `products`, in bytes.

    `gap` is `gap_bytes` over `bound_bytes`, None if that is 0. `optimal`: all of them move no more than their bounds.
    """

    layer: str
    """name of the layer"""
    compulsory_bytes: int
    """every input that is used read once, every result written once, over all products"""
    capacity_bound_bytes: int
    """what a scratchpad of this size makes necessary"""
    bound_bytes: int
    """the bounds of the products, added up"""
    reached_bytes: int
    """what the products move"""
    gap_bytes: int
    """what they move above the bound: at most so much could be saved"""
    gap: float | None
    """the same over the bound; null if the bound is 0"""
    optimal: bool
    """whether they move no more than the bound: no program of these products moves less"""
    products: list[CertifiedProducts]
    """forward products, each by itself, and dX and dW of one product together"""
