"""The rows of operations: their fields that do not depend on the cost, and the row of a contraction with its cycles."""

from collections.abc import Iterable
from typing import TypedDict

from msgspec import UNSET, UnsetType
from typing_extensions import Unpack
from xdsl.ir import Operation

from npuc.compiler.analysis.nest.gemm import forward_sizes
from npuc.compiler.report import Kind, OpRow, Phase, ScheduleRow, TensorBytes
from npuc.compiler.report.sections import Columns
from npuc.compiler.report.totals import OpaqueFacts
from npuc.dialects.npu import ContractOp, InterleaveOp, VectorOp
from npuc.dialects.npu.nest import Nest
from npuc.dialects.products import Passes
from npuc.dialects.provenance import Role, layer_of, location_text, repeat_of, role_of, source_of, sparsity_of


class Place(TypedDict):
    """The layer, the source and the repetitions of a row."""

    name: str
    loc: str | None
    source: str | UnsetType
    repeat: int


class Identity(Place):
    """The fields of an operation's row besides its costs."""

    op: str
    phase: Phase
    assumed: bool | UnsetType


class Sizes(TypedDict):
    """The forward product of a contraction, in elements; None where it is none."""

    batch: int | None
    m: int | None
    n: int | None
    k: int | None


class Costs(TypedDict, total=False):
    """The costs of a contraction's row besides its cycles; a field that is left out is not modelled."""

    seconds: float | None
    dram_read_bytes: int | None
    dram_write_bytes: int | None
    spm_bytes: int | None
    energy_j: float | None
    limit: str | None
    lower_bound_bytes: int | None
    lower_bound_seconds: float | None
    schedule: ScheduleRow | None
    tensors: dict[str, TensorBytes]
    native: Columns


def place_of(op: Operation) -> Place:
    """The layer, place in the source and repetitions of an operation."""
    return {"name": layer_of(op), "loc": location_text(op), "source": source_of(op) or UNSET, "repeat": repeat_of(op)}


def identity_of(op: Operation) -> Identity:
    """The fields of an operation's row that do not depend on what it costs."""
    assumed = True if opaque_operator(op) is not None else UNSET
    return {**place_of(op), "op": op.name, "phase": role_of(op).value, "assumed": assumed}


def opaque_operator(op: Operation) -> str | None:
    """The operator that an operation stands for, where that is known by its cost alone."""
    return op.operator if isinstance(op, VectorOp) else None


def opaque_facts(op: Operation) -> OpaqueFacts | None:
    """The section of the row of such an operation; None for all others."""
    operator = opaque_operator(op)
    return None if operator is None else OpaqueFacts(operator=operator)


def sizes_of(nest: Nest) -> Sizes:
    """The sizes of the forward product of a nest, as a row has them."""
    batch, m, n, k = forward_sizes(nest)
    return {"batch": batch, "m": m, "n": n, "k": k}


def contraction_row(
    op: ContractOp | InterleaveOp,
    index: int,
    nest: Nest,
    *,
    macs: int,
    cycles: int,
    compute_cycles: int,
    peak: int,
    mac_passes: Passes | None = None,
    **costs: Unpack[Costs],
) -> OpRow:
    """
    The row of a contraction, or of several that run together, with the sizes of `nest`.

    Stalls are the cycles in which nothing is computed; the utilization is that of `peak` MACs per cycle, None without
    a cycle. Where MACs take several passes through a multiplier, these are `mac_passes`, and the peak is one of them.
    """
    return OpRow(
        index=index,
        **identity_of(op),
        kind="matrix",
        **sizes_of(nest),
        macs=macs,
        vector_ops=0,
        cycles=cycles,
        compute_cycles=compute_cycles,
        stall_cycles=cycles - compute_cycles,
        utilization=float(macs if mac_passes is None else mac_passes) / (peak * cycles) if cycles > 0 else None,
        **costs,
    )


def uncosted_row(op: Operation, index: int) -> OpRow:
    """The row of work that a backend has no model of: its operations are counted, nothing else."""
    vector = isinstance(op, VectorOp)
    kind: Kind = "vector" if vector else "data"
    return OpRow(index=index, **identity_of(op), kind=kind, macs=0, vector_ops=op.ops if vector else 0)


def shared_over_units(op: Operation) -> str | None:
    """Why a backend of one array cannot score a contraction that units share; None of any other operation."""
    if isinstance(op, ContractOp) and op.units_attr is not None:
        return "it is shared over units of several kinds, which only the backend hetero knows"
    return None


def sparsity_warnings(ops: Iterable[Operation], reason: str) -> list[str]:
    """A warning that the sparsity of layers is left out, for a `reason`; none where all layers are dense."""
    sparse = sum(sparsity_of(op) is not None for op in ops if role_of(op) is Role.FORWARD)
    return [f"the N:M of {sparse:,} layers does not count: {reason}"] if sparse else []
