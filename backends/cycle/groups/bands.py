"""
The rows of operations in groups that walk rows: each kind of band is costed by itself, and counted as often as it runs.

Bands inside of a sample are alike; the first and the last ones have less to read where padding is, and other rows to
compute where halos are kept. What a band computes again is work of its row. Where an operand stays in SPM its new rows
are loaded before anything else is done in the band, as held operands are before the first one.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from npuc.backends.cycle.groups.sums import Extra, plus, times, with_extra
from npuc.compiler.analysis.fusion.rows.body import BandBody, BandWriter, kinds_of
from npuc.compiler.analysis.fusion.rows.program import group_bands, row_program
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.elements import size_bytes
from npuc.compiler.core.errors import CapacityError
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow
from npuc.dialects.npu import GroupOp
from npuc.dialects.npu.resident import block_residency
from npuc.dialects.npu.widths import elements_in

Cost = Callable[[Sequence[Operation]], list[OpRow]]


def walked_rows(group: GroupOp, inside: Sequence[Operation], machine: Machine, cost: Cost) -> list[OpRow]:
    """
    The rows of the operations of a group that walks rows: all bands of all samples together.

    Raises `SourceError` for operations that are not row-wise, `CapacityError` where a band does not fit in SPM.
    """
    program = row_program(group)
    writer = BandWriter(group, program, machine.spm_bytes)
    found: dict[Operation, OpRow] = {}
    for band, count in kinds_of(program, group_bands(group, program)):
        body = writer.body(band)
        rows = _band_rows(group, body, inside, machine, cost)
        for op, row in rows.items():
            own = times(row, count * group.batches.samples)
            found[op] = plus(found[op], own) if op in found else own
    return [found[op] for op in inside]


def _band_rows(
    group: GroupOp, body: BandBody, inside: Sequence[Operation], machine: Machine, cost: Cost
) -> dict[Operation, OpRow]:
    """The rows of the operations that run in a band, once."""
    _compiled_as(group, body.group)
    for _, problem in block_residency(body.group.body.block).problems:
        raise CapacityError(f"a band of rows: {problem}", location=location_of(group))
    here = [op for op in inside if op in body.of]
    loaded: dict[Operation, dict[str, int]] = {}
    for load in body.loads:
        size = size_bytes(load.type, elements_in(load.type), machine.element_bytes)
        loaded.setdefault(load.op, {})[load.name] = size
    rows = cost([body.of[op] for op in here])
    return {
        op: with_extra(row, Extra(loaded[op], {}) if op in loaded else None, machine)
        for op, row in zip(here, rows, strict=True)
    }


def _compiled_as(group: GroupOp, new: GroupOp) -> None:
    """Put a group into a program for the same machine, which says the widths of elements."""
    around: Operation = group
    while (parent := around.parent_op()) is not None:
        around = parent
    ModuleOp(Region(Block([new])), dict(around.attributes))
