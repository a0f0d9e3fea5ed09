"""The rows of a report: one per statement of a contraction, and one without costs per other operation."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from msgspec.structs import replace

from npuc.backends.maestro.cost import Columns, StatementCost
from npuc.backends.maestro.machine import MappedMachine
from npuc.backends.operations import contraction_row, opaque_facts
from npuc.compiler.report import OpRow
from npuc.compiler.report.sections import PassFacts, columns
from npuc.dialects.npu import ContractOp, VectorOp
from npuc.dialects.npu.widths import elements_of, passes_of_factors

STATEMENT = "statement"
"""In `native` of a row: which of several statements of its operation it is."""


def contract_row(op: ContractOp, index: int, number: int, cost: StatementCost, machine: MappedMachine) -> OpRow:
    """The row of a statement of a contraction, by its number."""
    nest, found = op.nest, cost.columns
    cycles = int(found["runtime_cycles"] or 0)
    energy = found["energy_total_mac_units"]
    several = {STATEMENT: str(nest.statements[number])} if len(nest.statements) > 1 else {}
    statement = nest.statements[number]
    mac_passes, facts = nest.points, None
    if machine.mantissa_bits is not None:
        mac_passes = ceil(nest.points * statement.passes)
        facts = PassFacts(product_passes=[ceil(statement.passes)], mac_passes=mac_passes)
    return contraction_row(
        op,
        index,
        nest,
        macs=nest.points,
        mac_passes=mac_passes,
        cycles=cycles,
        compute_cycles=cost.times.free,
        peak=machine.peak,
        seconds=machine.seconds(cycles),
        spm_bytes=_buffer_bytes(found, machine),
        energy_j=None if machine.mac_pj is None or energy is None else 1e-12 * machine.mac_pj * energy,
        dram_read_bytes=_dram_bytes(cost.read, machine),
        dram_write_bytes=_dram_bytes(cost.written, machine),
        limit=cost.times.limit if cycles > 0 else None,
        native={**found, **several, **columns(facts)},
    )


def opaque_row(op: VectorOp, machine: MappedMachine, repeat: OpRow) -> OpRow:
    """
    The row `repeat` of work that is known by its cost alone, with its time and energy.

    MAESTRO models contractions, and nothing is known of the loops of this work: it takes the longer of its MACs with
    every element at work in each cycle, and of its tensors off chip, each once. A MAC costs what it does there, an
    element off chip an access; buffers and the network on the chip are left out, and so is vector work.
    """
    own = machine.for_values((*op.operands, *op.results))
    passes = op.macs * passes_of_factors(op.operands[:2], own.mantissa_bits) if op.macs else 0
    read, written = (sum(map(elements_of, values)) for values in (op.operands, op.results))
    array = own.array
    compute, moved = -(-passes // own.peak), ceil(Fraction((read + written) * array.offchip_cycles, array.offchip_bw))
    cycles = max(compute, moved)
    units = passes + array.costs.offchip * (read + written)
    facts = None
    if own.mantissa_bits is not None and op.macs:
        facts = PassFacts(product_passes=[passes // op.macs], mac_passes=passes)
    return replace(
        repeat,
        macs=op.macs,
        cycles=cycles,
        compute_cycles=compute,
        stall_cycles=cycles - compute,
        seconds=own.seconds(cycles),
        utilization=passes / (own.peak * cycles) if cycles else None,
        energy_j=None if own.mac_pj is None else 1e-12 * own.mac_pj * units,
        dram_read_bytes=_dram_bytes(read, own),
        dram_write_bytes=_dram_bytes(written, own),
        limit="compute" if compute >= moved else "offchip",
        native=columns(opaque_facts(op), facts),
    )


def _buffer_bytes(found: Columns, machine: MappedMachine) -> int | None:
    """The bytes that the mapping needs in the shared buffer."""
    elements = _buffer_elements(found, "l2", machine.sum_size)
    return None if machine.element_bytes is None or elements is None else int(elements * machine.element_bytes)


def _dram_bytes(elements: float | None, machine: MappedMachine) -> int | None:
    """The bytes of DRAM that elements are, where the machine says what DRAM costs; MAESTRO counts none."""
    if elements is None or machine.width is None or not machine.array.costs.offchip:
        return None
    return int(Fraction(elements) * machine.width)


def _buffer_elements(found: Columns, level: str, sum_size: Fraction) -> Fraction | None:
    """The elements that the mapping needs in a buffer, where a partial sum may take several."""
    elements, outputs = found[f"{level}_size_req"], found[f"output_{level}_size_req"]
    if elements is None or outputs is None:
        return None
    return Fraction(elements) + (sum_size - 1) * Fraction(outputs)


def buffer_need(found: Columns, machine: MappedMachine) -> dict[str, tuple[int, int]]:
    """Buffers that are too small, by the key that says their size: what a mapping needs, what there is, in elements."""
    needs = {
        machine.l1_key: (_buffer_elements(found, "l1", machine.l1_sum_size), machine.l1_size),
        machine.l2_key: (_buffer_elements(found, "l2", machine.sum_size), machine.l2_size),
    }
    return {
        key: (ceil(need), size)
        for key, (need, size) in needs.items()
        if need is not None and size is not None and need > size
    }
