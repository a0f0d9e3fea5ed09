"""Certificates in words: traffic beside its lower bound, and the scratchpad that would allow less traffic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuc.backends.cycle.certificates import certificate_of
from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.nest.bounds import Certificate, capacity, compulsory_bits, compulsory_bytes
from npuc.compiler.analysis.nest.elements import Bits, contract_widths, footprint_bytes
from npuc.compiler.analysis.nest.traffic import moved_bits, traffic
from npuc.compiler.report import OpRow, Report
from npuc.compiler.report.sections import has_residents
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Loop, Nest, Schedule

Facts = Iterator[tuple[str, str]]
HEADING = "certified"


def certified_row(row: OpRow, machine: Machine) -> Facts:
    """The certificate of a row with products."""
    what = "schedule" if row.op == ContractOp.name else "program"
    yield HEADING, certified_text(certificate_of(row), machine.bounding_spm, what, residency_condition([row]))


def certified_pair(report: Report, rows: Sequence[OpRow], machine: Machine) -> str | None:
    """The certificate of dX and dW of a product, in words; None if the rows belong to several products."""
    wanted = [row.index for row in rows]
    for layer in report.certificates or ():
        for one in layer.products:
            if one.rows == wanted:
                found = Certificate(one.compulsory_bytes, one.capacity_bound_bytes, one.reached_bytes)
                return certified_text(found, machine.bounding_spm, "program of dX and dW", residency_condition(rows))
    return None


def residency_condition(rows: Sequence[OpRow]) -> str:
    """The condition under which the lower bounds of these rows hold: with or without resident operands."""
    if any(has_residents(row) for row in rows):
        return "with no more resident between operations than here"
    return "with nothing resident between operations"


def certified_text(found: Certificate, room: int, what: str, condition: str) -> str:
    """
    A certificate in words; `room` is the scratchpad in bytes that a `what` (schedule, program) may use, `condition`
    that of the bound.
    """
    bound = f"capacity bound with {room:,} of scratchpad"
    if found.capacity > found.compulsory:
        why = f"the {bound} (compulsory: {found.compulsory:,})"
    else:
        why = f"what is compulsory ({bound}: {found.capacity:,})"
    text = f"{condition} no {what} moves less than {found.bound:,} bytes, {why}. This one moves"
    if found.optimal:
        return f"{text} no more: optimal"
    share = f", {found.gap / found.bound:.1%} more" if found.bound else ""
    return f"{text} {found.reached:,}{share}: at most {found.gap:,} could be saved"


def spm_for_compulsory_traffic(op: ContractOp, row: OpRow, machine: Machine) -> Facts:
    """The scratchpad needed to move every tensor once, where the capacity bound shows that it is too small."""
    nest, widths = op.nest, contract_widths(op, machine)
    once, too_small = compulsory_bits(nest, widths), machine.bounding_spm
    found = certificate_of(row)
    if machine.cores > 1 or found.compulsory != compulsory_bytes(nest, widths) or found.capacity <= found.compulsory:
        return
    enough, how = smallest_sufficient_spm(nest, widths)
    end = enough
    while end - too_small > 1:
        middle = (too_small + end) // 2
        if capacity(nest, middle, widths) > once:
            too_small = middle
        else:
            end = middle
    yield (
        "",
        f"to move every tensor once takes more than {too_small:,} bytes of scratchpad; {enough:,} are enough ({how})",
    )


def smallest_sufficient_spm(nest: Nest, widths: Bits) -> tuple[int, str]:
    """
    The smallest footprint in bytes among schedules of at most one loop that move every tensor once, and its
    description.

    Other schedules may need less. With all tensors whole in scratchpad there always is one.
    """
    once = compulsory_bits(nest, widths)
    found: list[tuple[int, str]] = []
    for dim in [None, *(dim for dim, size in nest.dims if size > 1)]:
        schedule = Schedule() if dim is None else Schedule((Loop(dim, 1),))
        if moved_bits(nest, traffic(nest, schedule), widths) == once:
            room = footprint_bytes(nest, schedule, widths)
            whole = ", ".join(t.name for t in (*nest.ins, *nest.outs) if dim is None or dim not in t.dims)
            found.append((room, f"{whole} whole" if dim is None else f"{whole} whole, {dim} in steps of 1"))
    return min(found)
