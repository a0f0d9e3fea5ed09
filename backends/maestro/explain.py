"""The explanation of a mapped contraction's cost: the text of `npuc explain -b maestro` on a row."""

from __future__ import annotations

from collections.abc import Iterator

from npuc.backends.base import Answer, Question
from npuc.backends.maestro.cost import Columns, StatementCost
from npuc.backends.maestro.machine import MappedMachine, mapped_machine
from npuc.backends.maestro.statements import statement_cost
from npuc.compiler.analysis.mapping.columns import NAMES
from npuc.compiler.analysis.mapping.parity import AccessCosts
from npuc.compiler.report.rows import OpRow
from npuc.compiler.report.text.quantities import time_text
from npuc.dialects.mapping import Clusters, Mapping, Role
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Statement


def answer(question: Question) -> Answer:
    """Text of the statements that were asked for."""
    machine = mapped_machine(question.hardware)
    contractions = (op for op in question.module.walk() if isinstance(op, ContractOp))
    statements = [(op, number) for op in contractions for number in range(len(op.nest.statements))]
    costed = [row for row in question.report.ops if row.kind == "matrix"]
    places = {row.index: place for row, place in zip(costed, statements, strict=True)}
    rows = [row for row in question.rows if question.phase in (None, row.phase)]
    return Answer(text=lambda _: "\n".join(explain_text(*places[row.index], row, machine) for row in rows))


def explain_text(op: ContractOp, number: int, row: OpRow, machine: MappedMachine) -> str:
    """The lines on a statement of a contraction, by its number, that has this row."""
    machine = machine.for_contraction(op)
    cost = statement_cost(op, number, machine)
    sizes = ", ".join(f"{dim} {size}" for dim, size in op.nest.dims)
    statement = op.nest.statements[number]
    lines = [f"{row.name} {row.phase}: {statement} over {sizes}; {op.nest.points:,} MACs", ""]
    attr = op.mapping_attr
    if attr is not None:
        lines += _mapping_lines(attr.data, machine)
    lines += ["", *_time_lines(row, cost, machine), "", *_access_lines(statement, cost.columns, machine.array.costs)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _mapping_lines(mapping: Mapping | Clusters, machine: MappedMachine) -> Iterator[str]:
    """The mapping, a level a line."""
    if isinstance(mapping, Clusters):
        for number, level in enumerate(mapping.levels):
            inside = "sub-clusters" if number + 1 < len(mapping.levels) else "processing elements"
            yield f"level {number}   {level.fanout:,} {inside}: {', '.join(map(str, level.loops))}"
        used = mapping.processing_elements
        if used < machine.array.num_pes:
            yield f"          {machine.array.num_pes - used:,} of {machine.array.num_pes:,} elements are in no cluster"
        return
    for number, (level, width) in enumerate(zip(mapping.levels, ("", *mapping.clusters), strict=True)):
        of = f" inside clusters of {width}" if width else ""
        yield f"level {number}  {of} {'; '.join(map(str, level))}"


def _time_lines(row: OpRow, cost: StatementCost, machine: MappedMachine) -> Iterator[str]:
    """The cycles by cause, and the utilization of the machine."""
    times, array = cost.times, machine.array
    cycles = row.cycles or 0
    shown = f", {time_text(row.seconds)}" if row.seconds is not None else ""
    yield f"time      {cycles:,} cycles{shown}"
    parts = (
        ("steps with nothing to wait for", times.free),
        (f"the network brings {array.noc_bw:,} elements a cycle", times.noc),
        (f"its latency of {array.noc_latency:,} cycles", times.latency),
        (f"off chip come {_rate(array.offchip_bw, array.offchip_cycles)} elements a cycle", times.offchip),
    )
    for what, part in parts:
        if part and cycles:
            yield f"          {part:>15,} {part / cycles:>5.0%}  {what}"
    least = -(-(row.macs or 0) // machine.peak)
    yield f"          {least:>15,}        would be MACs on all {array.num_pes:,} elements"
    busy = cost.columns["avg_utilized_pes"]
    if busy is not None:
        yield f"elements  {busy:,.1f} of {array.num_pes:,} are at work in a mean step"


def _rate(elements: int, cycles: int) -> str:
    return f"{elements:,}" if cycles == 1 else f"{elements / cycles:,.2f}"


def _access_lines(statement: Statement, found: Columns, costs: AccessCosts) -> Iterator[str]:
    """The elements moved of each tensor, and their sizes in the buffers."""
    tensors: dict[Role, str] = {"I": statement.lhs, "W": statement.rhs, "O": statement.out}
    heads = ("L2 size", "L2 read", "L2 write", "L1 size", "L1 read", "L1 write", "MACs a read")
    yield f"{'elements':<10}" + "".join(f"{head:>16}" for head in heads)
    keys = ("l2_size_req", "l2_read", "l2_write", "l1_size_req", "l1_read", "l1_write")
    for role, name in NAMES.items():
        values = [found[f"{name}_{key}"] for key in keys]
        reads, macs = found[f"{name}_l2_read"], found["num_macs"]
        reuse = f"{macs / reads:,.1f}" if reads and macs else ""
        yield f"{tensors[role]:<10}" + "".join(f"{_whole(value):>16}" for value in values) + f"{reuse:>16}"
    energy = found["energy_total_mac_units"]
    if energy:
        l2, l1 = (
            unit * sum(found[f"{name}_{level}_{way}"] or 0 for name in NAMES.values() for way in ("read", "write"))
            for unit, level in ((costs.l2, "l2"), (costs.l1, "l1"))
        )
        macs = found["num_macs"] or 0
        dram = energy - l1 - l2 - macs
        beyond = f", DRAM {dram / energy:.0%}" if costs.offchip else ""
        shares = f"L2 {l2 / energy:.0%}, L1 {l1 / energy:.0%}, MACs {macs / energy:.0%}{beyond}"
        yield f"energy    {energy:,.4g} MACs: {shares}"


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
