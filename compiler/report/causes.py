"""
What the time of an operation is spent on: the causes that `npuc explain` adds up.

A row has one `limit`, what sets most of its time; causes split the whole time, so that those of all rows add up to that
of the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, get_args

from npuc.compiler.report.rows import OpRow

Cause = Literal[
    "macs", "space", "fill", "edge", "dram", "latency", "vector", "network", "noc", "offchip", "waits", "other"
]
CAUSES: tuple[Cause, ...] = get_args(Cause)
NAMES: Mapping[str, str] = {
    "macs": "MACs",
    "space": "idle elements",
    "fill": "fill and drain",
    "edge": "array's edge",
    "dram": "DRAM",
    "latency": "latency",
    "vector": "vector unit",
    "network": "network",
    "noc": "noc",
    "offchip": "off chip",
    "waits": "waits",
    "other": "other",
}
"""
Causes as tables name them: MACs at the array's peak; elements that have none to do; the array as it fills and drains;
waiting for its edge; for the DRAM channel; array and channel for each other; the vector unit; exchanges between
devices; the network on the chip; off-chip bandwidth; waiting that a model does not tell apart.
"""
Parts = Mapping[str, float]
"""Seconds by cause."""


def parts_by_limit(row: OpRow) -> Parts:
    """All of a row's time, in seconds, as spent on what limits it; nothing where its time is not known."""
    return {} if row.seconds is None else {_cause(row): row.seconds}


def _cause(row: OpRow) -> str:
    if row.kind == "comm":
        return "network"
    if row.limit == "compute":
        return "macs" if row.kind == "matrix" else "vector"
    return next((cause for cause in CAUSES if cause == row.limit), "other")


def shares_of_time(row: OpRow, parts: Parts) -> Parts:
    """The seconds of a row spread by parts of any unit, which none below 0 is; those of 0 are left out."""
    kept = {cause: part for cause, part in parts.items() if part > 0}
    whole = sum(kept.values())
    if row.seconds is None or not whole:
        return parts_by_limit(row)
    return {cause: row.seconds * part / whole for cause, part in kept.items()}


def added(parts: Iterable[tuple[int, Parts]]) -> dict[str, float]:
    """The sums of parts, each so many times; the largest first."""
    found: dict[str, float] = {}
    for count, one in parts:
        for cause, seconds in one.items():
            found[cause] = found.get(cause, 0.0) + count * seconds
    return dict(sorted(found.items(), key=lambda item: -item[1]))
