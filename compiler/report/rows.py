"""
The costs of operations, as frozen data: one `OpRow` per operation.

Names carry no unit only where the contract fixed them so: `*_bytes` are bytes, `seconds*` seconds, `energy_j` joules,
`cycles` of the array's clock, `m`, `n`, `k`, `batch` elements of the forward product. None is "this backend does not
model it", never 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from npuc.compiler.core.display import Displayed

if TYPE_CHECKING:
    from npuc.compiler.core.display.shown import Shown

Phase = Literal["forward", "dx", "dw", "dxdw", "update", "comm"]
Kind = Literal["matrix", "vector", "data", "comm"]
Scalar = None | bool | int | float | str
HardwareTable = dict[str, Scalar | list[Scalar | dict[str, Scalar | list[int]]]]
HardwareDict = dict[str, Scalar | HardwareTable | list[dict[str, Scalar | list[int]]]]

Define = bool | int | float | str | list[Any] | None
"""A value of a network parameter."""


class ByName(msgspec.Struct, frozen=True):
    """Fields that can also be read by name: `totals["cycles"]`."""

    def __getitem__(self, key: str) -> Any:
        """The field of that name; `KeyError` for any other."""
        if key not in self.__struct_fields__:
            raise KeyError(key)
        return getattr(self, key)


class DisplayedData(Displayed, msgspec.Struct, frozen=True):
    """Data that says by `shown` what is shown of it in a notebook and by `repr`."""


class TensorBytes(msgspec.Struct, frozen=True):
    """Traffic of one tensor of an operation between DRAM and SPM, in bytes."""

    read_bytes: int
    """bytes read from DRAM"""
    write_bytes: int
    """bytes written to DRAM"""


class Partition(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    A dimension split into parts, over time (`time`) or over cores (`cores`).

    Of several dimensions `dim` has the names, outermost first, joined by commas, `parts` the product; `each`, which is
    there for several only, has the parts of each.
    """

    dim: str
    """the dimension that is split; of several all, outermost first, joined by commas"""
    parts: int
    """the number of parts, of several dimensions the product"""
    over: Literal["time", "cores"]
    """`time`: one part after another; `cores`: each on a core"""
    each: dict[str, int] | None = None
    """of several dimensions the parts of each; else left out"""

    def __str__(self) -> str:
        """`m`, or `b 4 x o 2` of several dimensions."""
        return " x ".join(f"{dim} {parts}" for dim, parts in (self.each or {}).items()) or self.dim


class ScheduleRow(msgspec.Struct, frozen=True, kw_only=True):
    """
    The schedule of a nest: loops outermost first, tile sizes, and the keep depths of tensors.

    `order` and `tile` name dimensions as the nest does (a matrix product: m, n, k).
    """

    program: Literal["sequential", "zip", "fused"] = "sequential"
    """`sequential`, or how both gradients are interleaved"""
    order: list[str] = msgspec.field(default_factory=list[str])
    """dimensions of the loops, outermost first"""
    tile: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    """step of each dimension of the nest"""
    keep: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    """tensors held over inner loops, with the number of these loops"""
    partition: Partition | None = None
    """a dimension cut once more from outside; else null"""


class OpRow(DisplayedData, frozen=True, kw_only=True):
    """
    The cost of one operation; every count is for one of its `repeat` repetitions.

    (`name`, `phase`, `op`, `index`) is unique. `limit` is the resource that sets the time: compute, dram, latency, …
    `utilization` is the share of the array's peak that the MACs take.
    """

    index: int
    """number of the row, from 0"""
    name: str
    """layer; of an update the parameter, `fc1.weight`"""
    op: str
    """operation of the IR"""
    loc: str | None = None
    """`file:line:column` in the source, null where it is unknown"""
    source: str | msgspec.UnsetType = msgspec.UNSET
    """`file:line` of the program that the source was exported from; left out where it is unknown"""
    assumed: bool | msgspec.UnsetType = msgspec.UNSET
    """true where the work is that which formulas say of an operator without a meaning here; left out elsewhere"""
    phase: Phase = "forward"
    """`forward`, `dx`, `dw`, `dxdw`, `update`, `comm`"""
    kind: Kind = "matrix"
    """`matrix`, `vector`, `data`, `comm`"""
    repeat: int = 1
    """how often the operation runs"""
    batch: int | None = None
    """how many products of these sizes there are; null for other kinds"""
    m: int | None = None
    """
    rows of the *forward* product in all phases; convolution: batch x positions, transposed: batch x input positions
    """
    n: int | None = None
    """columns of the forward product; convolution: output channels, transposed: those x window"""
    k: int | None = None
    """what the forward product sums over; convolution: input channels x window, transposed: input channels"""
    macs: int | None = None
    """multiply-accumulates"""
    vector_ops: int | None = None
    """elementary operations"""
    cycles: int | float | None = None
    """cycles from start to end"""
    compute_cycles: int | float | None = None
    """cycles of the array or vector unit with nothing to wait for"""
    stall_cycles: int | float | None = None
    """the rest of `cycles`"""
    seconds: float | None = None
    """s"""
    utilization: float | None = None
    """share of the array's peak, 0 to 1"""
    dram_read_bytes: int | None = None
    """bytes read from DRAM"""
    dram_write_bytes: int | None = None
    """bytes written to DRAM"""
    spm_bytes: int | None = None
    """bytes of scratchpad that the schedule holds"""
    energy_j: float | None = None
    """J"""
    energy: dict[str, float | None] | msgspec.UnsetType = msgspec.UNSET
    """
    J by component, which add up to `energy_j`, and `static`, of a machine that does nothing over the time of the row;
    left out where there is no energy
    """
    limit: str | None = None
    """what sets the time: `compute`, `dram`, `latency`, or a backend's own word (`cycle`: `edge`)"""
    lower_bound_bytes: int | None = None
    """bytes that any schedule of this operation moves"""
    lower_bound_seconds: float | None = None
    """s that any schedule of this operation takes"""
    schedule: ScheduleRow | None = None
    """how the loops run; null where there is none"""
    tensors: dict[str, TensorBytes] = msgspec.field(default_factory=dict[str, TensorBytes])
    """what moves of each tensor"""
    native: dict[str, Scalar | list[Scalar]] = msgspec.field(default_factory=dict[str, Scalar | list[Scalar]])
    """the backend's own columns"""

    def shown(self) -> Shown:
        from npuc.compiler.core.display.shown import Shown
        from npuc.compiler.report.text.quantities import count_cell, time_cell

        sizes = " x ".join(str(size) for size in (self.batch, self.m, self.n, self.k) if size is not None)
        times = f"{self.repeat:,} times " if self.repeat != 1 else ""
        macs = f"{count_cell(self.macs)} MACs" if self.macs else ""
        known = (self.op, sizes, macs, f"{times}{time_cell(self.seconds)}", self.limit or "")
        return Shown("OpRow", f"{self.index} {self.name} {self.phase}", ", ".join(one for one in known if one))
