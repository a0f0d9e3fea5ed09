"""The rows of a report: one a statement of a contraction, with what each unit has of it, and one of other work."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from msgspec.structs import replace
from xdsl.ir import Operation

from npuc.backends.hetero.products import OnUnits
from npuc.backends.operations import contraction_row, identity_of, opaque_facts, opaque_operator
from npuc.backends.sparse import facts_of
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine, taken_text
from npuc.compiler.analysis.timing.vector_traffic import streamed_through
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import Kind, OpRow, TensorBytes
from npuc.compiler.report.sections import PassFacts, Section, columns
from npuc.dialects.npu import VectorOp
from npuc.dialects.npu.nest import Statement
from npuc.dialects.products import Passes

STATEMENT = "statement"
"""In `native` of a row: which of several statements of its operation it is."""


class UnitFacts(Section, frozen=True):
    """
    What units have of a product: their names, parts of the axis, cycles, bytes, the share of their elements' steps in
    the time of the product that are taken, and the products that they are expected to multiply with the standard
    deviation over masks. The axis is left out where one unit has the whole product, the stage where it runs alone.
    """

    units: list[str]
    unit_sizes: list[int]
    unit_cycles: list[float]
    unit_bytes: list[int]
    unit_utilization: list[float]
    unit_products: list[float]
    unit_deviation: list[float]
    unit_axis: str | None = None
    unit_stage: int | None = None


def product_row(work: OnUnits, index: int, machine: UnitMachine, element_bytes: int | None) -> OpRow:
    """The row of a statement of a contraction. Its seconds are what it adds to the end of its stage."""
    op, split, nest = work.op, work.split, work.op.nest
    several = {STATEMENT: str(nest.statements[work.statement])} if len(nest.statements) > 1 else {}
    cycles, longest = ceil(work.seconds * machine.hertz), max(share.cycles for share in split.shares)
    written = sum(share.written_bytes for share in split.shares)
    read = split.dram_bytes - written
    bound_by_dram = split.dram_bytes / machine.bytes_per_second > longest / machine.hertz
    return contraction_row(
        op,
        index,
        nest,
        macs=nest.points,
        mac_passes=Fraction(work.products),
        cycles=cycles,
        compute_cycles=min(cycles, ceil(longest)),
        peak=sum(unit.pes for unit in machine.units),
        seconds=work.seconds,
        dram_read_bytes=ceil(read),
        dram_write_bytes=ceil(written),
        energy_j=work.joules if machine.priced else None,
        limit="dram" if bound_by_dram else "compute",
        native={**columns(_facts(work, machine), _operations(work, element_bytes)), **several},
    )


def _facts(work: OnUnits, machine: UnitMachine) -> UnitFacts:
    shares = work.split.shares
    cycles = work.split.seconds * machine.hertz
    return UnitFacts(
        units=[share.unit.name for share in shares],
        unit_sizes=[share.size for share in shares],
        unit_cycles=[share.cycles for share in shares],
        unit_bytes=[ceil(share.dram_bytes) for share in shares],
        unit_utilization=[share.steps / (share.unit.pes * cycles) for share in shares],
        unit_products=[share.products for share in shares],
        unit_deviation=[share.deviation for share in shares],
        unit_axis=work.split.axis,
        unit_stage=work.stage,
    )


def _operations(work: OnUnits, element_bytes: int | None) -> Section:
    """What is carried out of the products: facts on sparse operands, or of dense ones the operations of units."""
    product, shares, points = work.split.product, work.split.shares, work.op.nest.points
    multiplied = sum(share.products for share in shares)
    operations = sum(share.operations for share in shares)
    steps = sum(share.steps for share in shares)

    def passes_of(statement: Statement) -> tuple[Passes, Passes]:
        del statement
        return Fraction(operations) / points, Fraction(steps) / points

    if product.a == product.b == 1:
        return PassFacts(product_passes=[1], mac_passes=ceil(operations))
    found = facts_of([work.op], (work.op.nest,), passes_of, element_bytes)
    assert found is not None
    return replace(found, carried_macs=ceil(multiplied), carried_passes=operations)


def other_row(op: Operation, index: int, machine: UnitMachine, element_bytes: int | None, lanes: int | None) -> OpRow:
    """
    The row of vector work or of movement: operands are read once, or twice where a group of them does not fit the
    buffers of all units together, and results are written once; where there are vector lanes, their time if it is
    longer.

    MACs of work that is known by its cost alone run on the dense unit with the most elements, each of them at work in
    every cycle, before its vector work: nothing says that several units may share it, or how often it reads a buffer.
    Raises `UsageError` where no unit is dense.
    """
    room = sum(unit.buffer_bytes for unit in machine.units)
    moving = streamed_through(op, element_bytes, room)
    tensors = {name: TensorBytes(size, 0) for name, size in moving.reads.items()}
    tensors |= {name: TensorBytes(0, size) for name, size in moving.writes.items()}
    read, written = sum(moving.reads.values()), sum(moving.writes.values())
    vector = isinstance(op, VectorOp)
    ops, macs = (op.ops, op.macs) if isinstance(op, VectorOp) else (0, 0)
    unit = _dense_unit(op, machine) if macs else None
    busy = (0.0 if lanes is None else ops / lanes) + (macs / unit.pes if unit else 0.0)
    work, transfer = busy / machine.hertz, (read + written) / machine.bytes_per_second
    seconds = max(work, transfer)
    computing = ceil(busy)
    cycles = computing if work > transfer else max(computing, ceil(transfer * machine.hertz))
    kind: Kind = "matrix" if macs else "vector" if vector else "data"
    elements = sum(unit.pes for unit in machine.units)
    picojoules = (macs * unit.mac_pj if unit else 0.0) + machine.dram_pj_per_byte * (read + written)
    return OpRow(
        index=index,
        **identity_of(op),
        kind=kind,
        macs=macs,
        vector_ops=ops,
        cycles=cycles,
        compute_cycles=computing,
        stall_cycles=cycles - computing,
        seconds=seconds,
        utilization=macs / (elements * cycles) if macs and cycles else 0.0,
        dram_read_bytes=read,
        dram_write_bytes=written,
        energy_j=1e-12 * picojoules + machine.idle_w * seconds if machine.priced else None,
        limit="compute" if work > transfer else "dram",
        tensors=tensors,
        native=columns(opaque_facts(op)),
    )


def _dense_unit(op: Operation, machine: UnitMachine) -> SparseUnit:
    """The unit with the most elements that takes dense operands. Raises `UsageError` where there is none."""
    dense = [unit for unit in machine.units if ("dense", "dense") in unit.takes]
    if not dense:
        raise UsageError(
            f"no unit takes the MACs of '{opaque_operator(op)}', which is known by its cost alone: none is dense",
            location=location_of(op),
            hint="; ".join(f"'{unit.name}' takes {taken_text(unit)}" for unit in machine.units),
        )
    return max(dense, key=lambda unit: unit.pes)
