"""The fields of a row that do not depend on its cost: name, place, phase, repetitions, and the sizes of a product."""

from collections.abc import Iterable
from typing import TypedDict

from xdsl.ir import Operation

from npuc.compiler.analysis.nest.gemm import forward_sizes
from npuc.compiler.report import Kind, OpRow, Phase
from npuc.dialects.npu import VectorOp
from npuc.dialects.npu.nest import Nest
from npuc.dialects.provenance import Role, layer_of, location_text, repeat_of, role_of, sparsity_of


class Place(TypedDict):
    """The layer, the source and the repetitions of a row."""

    name: str
    loc: str | None
    repeat: int


class Identity(Place):
    """The fields of an operation's row besides its costs."""

    op: str
    phase: Phase


class Sizes(TypedDict):
    """The forward product of a contraction, in elements; None where it is none."""

    batch: int | None
    m: int | None
    n: int | None
    k: int | None


def place_of(op: Operation) -> Place:
    """The layer, place in the source and repetitions of an operation."""
    return {"name": layer_of(op), "loc": location_text(op), "repeat": repeat_of(op)}


def identity_of(op: Operation) -> Identity:
    """The fields of an operation's row that do not depend on what it costs."""
    return {**place_of(op), "op": op.name, "phase": role_of(op).value}


def sizes_of(nest: Nest) -> Sizes:
    """The sizes of the forward product of a nest, as a row has them."""
    batch, m, n, k = forward_sizes(nest)
    return {"batch": batch, "m": m, "n": n, "k": k}


def uncosted_row(op: Operation, index: int) -> OpRow:
    """The row of work that a backend has no model of: its operations are counted, nothing else."""
    vector = isinstance(op, VectorOp)
    kind: Kind = "vector" if vector else "data"
    return OpRow(index=index, **identity_of(op), kind=kind, macs=0, vector_ops=op.ops if vector else 0)


def sparsity_warnings(ops: Iterable[Operation], reason: str) -> list[str]:
    """A warning that the sparsity of layers is left out, for a `reason`; none where all layers are dense."""
    sparse = sum(sparsity_of(op) is not None for op in ops if role_of(op) is Role.FORWARD)
    return [f"the N:M of {sparse:,} layers does not count: {reason}"] if sparse else []
