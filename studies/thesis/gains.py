"""
What each idea of the study's cache gains: an iteration with all of them, and without one of them.

The ideas are the eviction of what is used again last (Belady), the prefetch that computation hides, and the offload
that looks ahead; the keys of the backend take each away (docs/roofline.md). All rows use the plan made for the capacity
itself, so that they differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npuc.compiler.core.units import MIB
from npuc.studies.thesis.measures import moved_bytes, seconds
from npuc.studies.thesis.networks import Settings, ThesisNetwork
from npuc.studies.thesis.scores import Point, Scores
from npuc.studies.thesis.settings import LEAST

GAIN_MIB = (LEAST, 128, 400)
"""The capacities of the table."""
_PLAN: Settings = (("roofline.plan", "single"),)


@dataclass(frozen=True)
class Variant:
    """A cache without an `idea` of the study's, and what it has `instead`; `keys` of the hardware say so."""

    idea: str
    instead: str
    keys: Settings


ALL = Variant("all", "", ())
VARIANTS = (
    ALL,
    Variant("belady", "lru", (("roofline.policy", "lru"),)),
    Variant("latency prefetch", "next-layer", (("roofline.prefetch", "next-layer"),)),
    Variant("latency prefetch", "none", (("roofline.prefetch", "none"),)),
    Variant("look-ahead offload", "when-full", (("roofline.offload", "when-full"),)),
    Variant(
        "all three",
        "lru, none, when-full",
        (("roofline.policy", "lru"), ("roofline.prefetch", "none"), ("roofline.offload", "when-full")),
    ),
)
"""All ideas, then each by itself taken away, then all."""


@dataclass(frozen=True)
class GainRow:
    """
    An iteration of a network with a cache of `cache_mib`, without an `idea`, for which there is something `instead`.

    The time is in milliseconds, the traffic in MiB; ratios are to those with all ideas. None where the network does not
    fit.
    """

    network: str
    cache_mib: int
    idea: str
    instead: str
    time_ms: float | None
    traffic_mib: float | None
    time_ratio: float | None
    traffic_ratio: float | None


def gain_points(network: ThesisNetwork) -> Iterator[Point]:
    """The points that the table needs of a network."""
    yield from (_point(network, mib, variant) for variant in VARIANTS for mib in GAIN_MIB)


def gain_rows(scores: Scores, networks: Sequence[ThesisNetwork]) -> Iterator[GainRow]:
    """The table, a network after the other, at each capacity all variants."""
    for network in networks:
        for mib in GAIN_MIB:
            whole = scores.reports.get(_point(network, mib, ALL))
            for variant in VARIANTS:
                report = scores.reports.get(_point(network, mib, variant))
                time = traffic = time_ratio = traffic_ratio = None
                if report is not None and whole is not None:
                    time, traffic = 1e3 * seconds(report), moved_bytes(report) / MIB
                    time_ratio = _ratio(seconds(report), seconds(whole))
                    traffic_ratio = _ratio(moved_bytes(report), moved_bytes(whole))
                names = (network.command, mib, variant.idea, variant.instead)
                yield GainRow(*names, time, traffic, time_ratio, traffic_ratio)


def _point(network: ThesisNetwork, mib: int, variant: Variant) -> Point:
    return Point(network, mib, keys=_PLAN + variant.keys)


def _ratio(value: float, whole: float) -> float | None:
    return value / whole if whole else None
