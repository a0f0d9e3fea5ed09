"""
The report as frozen data: one `OpRow` an operation, `Totals` over them, `Report` around both.

Names carry no unit only where the contract fixed them so: `*_bytes` are bytes, `seconds*` seconds, `energy_j` joules,
`cycles` of the array's clock, `m`, `n`, `k`, `batch` elements of the forward product. None is "this backend does not
model it", never 0.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from npuc.compiler.core.options import MEMORY_KINDS

SCHEMA = "npuc.report/1"

Phase = Literal["forward", "dx", "dw", "dxdw", "update", "comm"]
Kind = Literal["matrix", "vector", "data", "comm"]
Scalar = None | bool | int | float | str
HardwareTable = dict[str, Scalar | list[Scalar | dict[str, Scalar]]]
HardwareDict = dict[str, Scalar | HardwareTable]

Define = bool | int | float | str | list[Any] | None
"""A value of a network parameter."""


class TensorBytes(msgspec.Struct, frozen=True):
    """Traffic of one tensor of an operation between DRAM and SPM, in bytes."""

    read_bytes: int
    write_bytes: int


class Partition(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    A dimension cut in parts, one after the other (`time`) or side by side (`cores`).

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
    How a nest is run: loops outermost first, tile sizes, and the depth at which tensors stay in SPM.

    `order` and `tile` name dimensions as the nest does (a matrix product: m, n, k).
    """

    program: Literal["sequential", "zip", "fused"] = "sequential"
    order: list[str] = msgspec.field(default_factory=list[str])
    tile: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    keep: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    partition: Partition | None = None


class OpRow(msgspec.Struct, frozen=True, kw_only=True):
    """
    What one operation costs; every count is for one of its `repeat` repetitions.

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


class CertifiedProducts(msgspec.Struct, frozen=True, kw_only=True):
    """
    How far products of a layer are from what any program of them moves; of one of their `repeat` runs, in bytes.

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
    How far a layer's products are from what they have to move: sums over all runs of its `products`, in bytes.

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


class StepMemory(msgspec.Struct, frozen=True, kw_only=True):
    """
    What the tensors of a step take in memory, in bytes, before anything is lowered.

    `peak_bytes` is the most at any time, which is reached in `peak_layer`; `activation_bytes` is what the forward pass
    keeps for the backward pass, `argument_bytes` inputs, parameters, optimizer states and constants. `gradient_bytes`
    are the gradients of all parameters together; `totals.memory` says which of them are there at the peak.
    """

    peak_bytes: int
    peak_layer: str
    activation_bytes: int
    argument_bytes: int
    gradient_bytes: int = 0


class ByName(msgspec.Struct, frozen=True):
    """Fields that can be read by their names, too: `totals["cycles"]`."""

    def __getitem__(self, key: str) -> Any:
        """The field of that name; `KeyError` for any other."""
        if key not in self.__struct_fields__:
            raise KeyError(key)
        return getattr(self, key)


class Totals(ByName, frozen=True, kw_only=True):
    """
    Sums of `repeat` x row over all rows, and ratios of those sums. `totals["cycles"]` reads a field by its name.

    `peak_bytes` is that of the report's `memory`; `memory` says what it is made of, and adds up to it: `weights`,
    `gradients` of parameters, `optimizer` states, `activations` with inputs and their gradients, `buffers` (results of
    collectives, parameters in another form, constants, running statistics).
    """

    cycles: int | float | None
    seconds: float | None
    macs: int | None
    vector_ops: int | None
    dram_read_bytes: int | None
    dram_write_bytes: int | None
    energy_j: float | None
    utilization: float | None
    lower_bound_seconds: float | None
    lower_bound_bytes: int | None
    seconds_by_phase: dict[str, float | None]
    seconds_by_kind: dict[str, float | None]
    peak_bytes: int | None = None
    memory: dict[str, int | None] = msgspec.field(default_factory=lambda: dict.fromkeys(MEMORY_KINDS))


class ParallelPair(ByName, frozen=True, kw_only=True):
    """
    A pair of sides that share their work unequally, and how many such pairs a level has.

    `groups` are the first and the last group of devices that it splits, `shares` what the first side does of each layer
    (exact, `"2/3"`), `elements` half of what both sides read of each other. `seconds` are the time of the pair by
    itself, waiting included, `side_seconds` what each side takes of it.
    """

    groups: list[int]
    count: int
    choices: dict[str, str]
    shares: dict[str, str]
    elements: int | str
    seconds: float
    side_seconds: list[float]


class ParallelLevel(ByName, frozen=True, kw_only=True, omit_defaults=True):
    """
    One level of the tree of devices: what each layer does, and the elements one pair reads in one direction.

    `cuts` says of each layer in `mp` along which of its channels it is cut, `input` or `output`, under conventions that
    leave it open; null under the others.

    With unlike devices `pairs` are all different ones, and the rest is that of the first. Where a level splits into
    more than two `parts`, elements are half of what all parts read of each other.
    """

    level: str
    choices: dict[str, str]
    elements: int | str
    cuts: dict[str, str] | None = None
    shares: dict[str, str] | None = None
    pairs: list[ParallelPair] | None = None
    parts: int = 2


class ParallelTotal(ByName, frozen=True):
    """
    Movement of all levels; a number that is not whole is an exact string (`"3/2"`).

    Bytes are those of the tensors' types, both directions; null where tensors differ in width and it is not known which
    of them are moved.
    """

    elements: int | str
    bytes: int | str | None


class PlanCost(ByName, frozen=True, kw_only=True):
    """What a plan was searched for, where that is not movement: seconds of a step (`time`) or bytes kept (`memory`)."""

    objective: Literal["time", "memory"]
    value: float
    lower_bound: float


class Parallel(ByName, frozen=True, kw_only=True, omit_defaults=True):
    """
    How the step is split over devices; `planned` is there for plans of other objectives than movement.

    `training` is false where a forward pass is planned, which has no gradients to move. `seconds` is what the products
    and the movement of a step take on unlike devices.
    """

    strategy: str
    convention: str
    devices: int
    levels: list[ParallelLevel]
    total: ParallelTotal
    lower_bound_elements: int | str | None
    planned: PlanCost | None = None
    seconds: float | None = None
    training: bool = True


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What one training step (or forward pass) costs on one backend and one hardware."""

    schema: str = SCHEMA
    npuc: str = ""
    source: str = ""
    network: str = ""
    backend: str
    hardware: HardwareDict
    precision: str = "as-written"
    pipeline: str = ""
    defines: dict[str, Define] = msgspec.field(default_factory=dict[str, Define])
    warnings: list[str] = msgspec.field(default_factory=list[str])
    totals: Totals
    memory: StepMemory | None = None
    ops: list[OpRow]
    native: dict[str, Scalar] = msgspec.field(default_factory=dict[str, Scalar])
    certificates: list[LayerCertificate] | None = None
    parallel: Parallel | None = None

    def to_json(self) -> str:
        """The report as JSON text, one row a line; the same report always gives the same bytes."""
        from npuc.compiler.report.write import to_json

        return to_json(self)

    def to_csv(self) -> str:
        """The rows as CSV text, nested keys dotted, an empty cell for None."""
        from npuc.compiler.report.write import to_csv

        return to_csv([self])

    def to_trace(self) -> str:
        """The timeline of the step in the trace-event format, as JSON text. Raises `UsageError` without cycles."""
        from npuc.compiler.report.trace_events import to_trace

        return to_trace(self)
