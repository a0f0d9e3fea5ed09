"""The report of a program on a machine of units."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from npuc.backends.hetero.products import OnUnits, on_units, several_widths
from npuc.backends.hetero.rows import other_row, product_row
from npuc.backends.operations import sparsity_warnings
from npuc.compiler.analysis.hetero.stages import dependent_in_stage
from npuc.compiler.analysis.hetero.unit import UnitMachine
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow, Report, make_report
from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, InterleaveOp, MoveOp, VectorOp
from npuc.dialects.provenance import layer_of
from npuc.hardware import Hardware
from npuc.hardware.units import machine_of_units, refuse_without_units

NAME = "hetero"
OTHERS = (VectorOp, MoveOp, Im2ColOp, Col2ImOp)
LANES = "vector.lanes"


def units_machine(hardware: Hardware) -> UnitMachine:
    """The units of a machine. Raises `UsageError` for a machine without units, and for keys that are missing."""
    refuse_without_units(hardware)
    return machine_of_units(hardware, needs_energy=False)


def score_module(module: ModuleOp, hardware: Hardware) -> Report:
    """The report of a module. Raises `UsageError` and `SourceError` (`HeteroBackend.score`)."""
    machine = units_machine(hardware)
    element_bytes, lanes = hardware.get("memory.element_bytes", int), hardware.get(LANES, int)
    for func in (op for op in module.walk() if isinstance(op, FuncOp)):
        _check_stages(func)
    ops = [op for op in module.walk() if isinstance(op, (ContractOp, *OTHERS))]
    contracts = [op for op in ops if isinstance(op, ContractOp)]
    found = on_units(_groups(contracts), machine, element_bytes)
    rows: list[OpRow] = []
    for op in ops:
        if isinstance(op, ContractOp):
            for work in found[op]:
                rows.append(product_row(work, len(rows), machine, element_bytes))
        else:
            rows.append(other_row(op, len(rows), machine, element_bytes, lanes))
    warnings = _remarks(contracts, rows, found, lanes)
    warnings += sparsity_warnings(module.walk(), "densities are those of sparse operands (--density)")
    return make_report(NAME, hardware.as_dict(), rows, warnings=warnings)


def _check_stages(func: FuncOp) -> None:
    """Raise `SourceError` for a product that depends on another of its stage, or on one of a later stage."""
    wrong = dependent_in_stage(func)
    if wrong is not None and wrong.units_attr is not None:
        raise SourceError(
            f"{layer_of(wrong) or 'a product'} is of stage {wrong.units_attr.data.stage}, and depends on a product of "
            "that stage or a later one",
            location=location_of(wrong),
            hint="products of a stage run side by side: a larger number, or none where it runs alone",
        )


def _groups(contracts: Sequence[ContractOp]) -> list[list[ContractOp]]:
    """The contractions that run side by side: those of a stage of a function, each other one alone."""
    groups: dict[Hashable, list[ContractOp]] = {}
    for op in contracts:
        stage = None if op.units_attr is None else op.units_attr.data.stage
        groups.setdefault(op if stage is None else (op.parent, stage), []).append(op)
    return list(groups.values())


def _remarks(
    contracts: Sequence[ContractOp],
    rows: Sequence[OpRow],
    found: dict[ContractOp, list[OnUnits]],
    lanes: int | None,
) -> list[str]:
    """What a report says of the assumptions behind it."""
    told: list[str] = []
    free = sum(op.units_attr is None for op in contracts)
    if free:
        those = "all" if free == len(contracts) else f"{free:,} of {len(contracts):,}"
        told.append(f"{those} products are shared by units in the way that takes least time: no pass says their units")
    converted = sum(_is_converted(work) for works in found.values() for work in works)
    if converted:
        told.append(
            f"{converted:,} products read operands in formats of their units: what it takes to store them so is not "
            "priced"
        )
    together = sum(len(op.nest.statements) > 1 or isinstance(op.parent_op(), InterleaveOp) for op in contracts)
    if together:
        told.append(f"products that run together ({together:,} times) are priced one statement after another")
    scheduled = sum(op.schedule_attr is not None for op in contracts)
    if scheduled:
        told.append(f"schedules of {scheduled:,} contractions have no effect: units have orders of their own")
    several = several_widths(contracts)
    if several:
        told.append(f"values of {several:,} products with several types take the bytes of the widest")
    if lanes is None and any(row.vector_ops for row in rows):
        told.append(f"vector work takes the time of its bytes: the machine has no {LANES}")
    return told


def _is_converted(work: OnUnits) -> bool:
    """Whether a unit reads an operand in CSR or CSC that lies in memory in another format."""
    product = work.split.product
    return any(
        format != "dense" and own is None
        for share in work.split.shares
        for format, own in zip(share.formats or (), (product.a_format, product.b_format), strict=False)
    )


def is_resident(op: Operation) -> bool:
    """Whether an operation finds or leaves values in a scratchpad, or runs on the blocks of another."""
    fused = isinstance(op, VectorOp) and op.fused
    return fused or (isinstance(op, ContractOp | VectorOp) and op.resident_attr is not None)
