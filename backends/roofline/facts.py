"""The section of `native` in the rows of the backend `roofline`."""

from __future__ import annotations

from typing import Literal

from npuc.compiler.report.sections import Section


class StepFacts(Section, frozen=True):
    """
    A step of the iteration: when it runs, the occupancy of the cache meanwhile, and its place on the roofline.

    `reuse_frequency` is in operations per byte of the footprint; `attainable_tops` is the throughput that the bandwidth
    allows at this frequency. `layer_type` is I for matrix work and II for all else; a step that `streams` computes
    while it transfers.
    """

    bytes_in: int
    bytes_out: int
    start_seconds: float
    end_seconds: float
    stall_seconds: float
    resident_bytes: int
    footprint_bytes: int
    reuse_frequency: float
    attainable_tops: float
    layer_type: Literal["I", "II"]
    streams: bool
