"""A plan of unequal shares for heterogeneous devices: the JSON of `npuc explain --devices` on such."""

from __future__ import annotations

import msgspec

from npuc.compiler.report.parallel import Parallel
from npuc.compiler.report.rows import Define


class DeviceGroup(msgspec.Struct, frozen=True, kw_only=True):
    """So many alike devices; `tflops` and `gb_per_s` are of one of them."""

    devices: int
    tflops: float
    gb_per_s: float


class HeterogeneousReport(msgspec.Struct, frozen=True, kw_only=True):
    """
    The plan (`parallel`) and what a step takes by others: the best found in equal shares, data parallelism in these.

    `layers` are the layers with weights, or the one that was asked for; the plan has the joins between them, too.
    """

    npuc: str
    source: str
    network: str
    defines: dict[str, Define]
    groups: list[DeviceGroup]
    layers: list[str]
    parallel: Parallel
    equal_seconds: float
    data_parallel_seconds: float
