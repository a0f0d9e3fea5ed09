"""Means of shares, and shares as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum, sqrt

from npuc.compiler.analysis.mapping.flexibility.axes import AXES
from npuc.compiler.analysis.mapping.flexibility.flexion import Flexion
from npuc.compiler.analysis.mapping.flexibility.tiles import Estimate


def mean_of(parts: Iterable[tuple[float, Estimate | None]]) -> Estimate | None:
    """The mean of shares by their weights; None where there are none."""
    known: Sequence[tuple[float, Estimate]] = [(weight, one) for weight, one in parts if one is not None and weight]
    if not known:
        return None
    total = fsum(weight for weight, _ in known)
    error = sqrt(fsum((weight * one.error) ** 2 for weight, one in known)) / total
    return Estimate(fsum(weight * one.value for weight, one in known) / total, error)


def number(value: float) -> int | float:
    """A whole number as an integer."""
    return int(value) if float(value).is_integer() else value


def estimate_data(one: Estimate | None) -> dict[str, float] | None:
    """A number with its standard error."""
    return None if one is None else {"value": number(one.value), "error": one.error}


def flexion_data(flexion: Flexion) -> dict[str, object]:
    """The flexion of each axis, and of all together."""
    axes = {
        name: {
            "all": estimate_data(axis.every),
            "supported": estimate_data(axis.supported),
            "share": estimate_data(axis.share),
        }
        for name, axis in zip(AXES, flexion.axes, strict=True)
    }
    return {**axes, "together": estimate_data(flexion.together)}
