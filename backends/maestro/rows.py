"""The rows of a report: one for each statement of a contraction, one without costs for other work."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from npuc.backends.maestro.machine import MappedMachine
from npuc.backends.maestro.price import Columns, Price
from npuc.backends.operations import identity_of, sizes_of
from npuc.compiler.report import OpRow
from npuc.dialects.npu import ContractOp

STATEMENT = "statement"
"""In `native` of a row: which of several statements of its operation it is."""


def contract_row(op: ContractOp, index: int, number: int, price: Price, machine: MappedMachine) -> OpRow:
    """The row of a statement of a contraction, by its number."""
    nest, found = op.nest, price.columns
    cycles = int(found["runtime_cycles"] or 0)
    energy = found["energy_total_mac_units"]
    several = {STATEMENT: str(nest.statements[number])} if len(nest.statements) > 1 else {}
    return OpRow(
        index=index,
        **identity_of(op),
        kind="matrix",
        **sizes_of(nest),
        macs=nest.points,
        vector_ops=0,
        cycles=cycles,
        compute_cycles=price.times.free,
        stall_cycles=cycles - price.times.free,
        seconds=machine.seconds(cycles),
        utilization=nest.points / (cycles * machine.peak) if cycles > 0 else None,
        spm_bytes=_room(found, machine),
        energy_j=None if machine.mac_pj is None or energy is None else 1e-12 * machine.mac_pj * energy,
        limit=price.times.limit if cycles > 0 else None,
        native={**found, **several},
    )


def _room(found: Columns, machine: MappedMachine) -> int | None:
    """What the shared buffer has to hold, in bytes."""
    room = _shared_room(found, machine)
    return None if machine.element_bytes is None or room is None else int(room * machine.element_bytes)


def _shared_room(found: Columns, machine: MappedMachine) -> Fraction | None:
    """What the shared buffer has to hold, in elements, of which a partial sum may take several."""
    room, outputs = found["l2_size_req"], found["output_l2_size_req"]
    if room is None or outputs is None:
        return None
    return Fraction(room) + (machine.sum_size - 1) * Fraction(outputs)


def buffer_need(found: Columns, machine: MappedMachine) -> dict[str, tuple[int, int]]:
    """Buffers that are too small, by the key that says their size: what a mapping needs, what there is, in elements."""
    needs = {
        "maestro.l1_size": (found["l1_size_req"], machine.l1_size),
        machine.l2_key: (_shared_room(found, machine), machine.l2_size),
    }
    return {
        key: (ceil(need), size)
        for key, (need, size) in needs.items()
        if need is not None and size is not None and need > size
    }
