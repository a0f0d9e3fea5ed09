"""A plan of unequal shares for heterogeneous devices: the JSON of `npuc explain --devices` for such machines."""

from __future__ import annotations

import msgspec

from npuc.compiler.report.parallel import Parallel
from npuc.compiler.report.rows import Define


class DeviceGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A number of equal devices; `tflops` and `gb_per_s` are those of one."""

    devices: int
    tflops: float
    gb_per_s: float


class HeterogeneousReport(msgspec.Struct, frozen=True, kw_only=True):
    """
    The plan (`parallel`), and the step's time under two others: the best found with equal shares, and data parallelism.

    `layers` are the layers with weights, or the requested one; the plan also has the joins between them.
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
