"""
The costs of operations, as frozen data: one `OpRow` per operation.

Names carry no unit only where the contract fixed them so: `*_bytes` are bytes, `seconds*` seconds, `energy_j` joules,
`cycles` of the array's clock, `m`, `n`, `k`, `batch` elements of the forward product. None is "this backend does not
model it", never 0.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Phase = Literal["forward", "dx", "dw", "dxdw", "update", "comm"]
Kind = Literal["matrix", "vector", "data", "comm"]
Scalar = None | bool | int | float | str
HardwareTable = dict[str, Scalar | list[Scalar | dict[str, Scalar]]]
HardwareDict = dict[str, Scalar | HardwareTable]

Define = bool | int | float | str | list[Any] | None
"""A value of a network parameter."""


class ByName(msgspec.Struct, frozen=True):
    """Fields that can also be read by name: `totals["cycles"]`."""

    def __getitem__(self, key: str) -> Any:
        """The field of that name; `KeyError` for any other."""
        if key not in self.__struct_fields__:
            raise KeyError(key)
        return getattr(self, key)


class TensorBytes(msgspec.Struct, frozen=True):
    """Traffic of one tensor of an operation between DRAM and SPM, in bytes."""

    read_bytes: int
    write_bytes: int


class Partition(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    A dimension split into parts, over time (`time`) or over cores (`cores`).

    Of several dimensions `dim` has the names, outermost first, joined by commas, `parts` the product; `each`, which is
    there for several only, has the parts of each.
    """

    dim: str
    parts: int
    over: Literal["time", "cores"]
    each: dict[str, int] | None = None

    def __str__(self) -> str:
        """`m`, or `b 4 x o 2` of several dimensions."""
        return " x ".join(f"{dim} {parts}" for dim, parts in (self.each or {}).items()) or self.dim


class ScheduleRow(msgspec.Struct, frozen=True, kw_only=True):
    """
    The schedule of a nest: loops outermost first, tile sizes, and the keep depths of tensors.

    `order` and `tile` name dimensions as the nest does (a matrix product: m, n, k).
    """

    program: Literal["sequential", "zip", "fused"] = "sequential"
    order: list[str] = msgspec.field(default_factory=list[str])
    tile: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    keep: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    partition: Partition | None = None


class OpRow(msgspec.Struct, frozen=True, kw_only=True):
    """
    The cost of one operation; every count is for one of its `repeat` repetitions.

    (`name`, `phase`, `op`, `index`) is unique. `limit` is the resource that sets the time: compute, dram, latency, …
    `utilization` is the share of the array's peak that the MACs take.
    """

    index: int
    name: str
    op: str
    loc: str | None = None
    phase: Phase = "forward"
    kind: Kind = "matrix"
    repeat: int = 1
    batch: int | None = None
    m: int | None = None
    n: int | None = None
    k: int | None = None
    macs: int | None = None
    vector_ops: int | None = None
    cycles: int | float | None = None
    compute_cycles: int | float | None = None
    stall_cycles: int | float | None = None
    seconds: float | None = None
    utilization: float | None = None
    dram_read_bytes: int | None = None
    dram_write_bytes: int | None = None
    spm_bytes: int | None = None
    energy_j: float | None = None
    limit: str | None = None
    lower_bound_bytes: int | None = None
    lower_bound_seconds: float | None = None
    schedule: ScheduleRow | None = None
    tensors: dict[str, TensorBytes] = msgspec.field(default_factory=dict[str, TensorBytes])
    native: dict[str, Scalar | list[Scalar]] = msgspec.field(default_factory=dict[str, Scalar | list[Scalar]])
