"""What operations cost by a report, and what devices exchange."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from xdsl.ir import Operation

from npuc.compiler.analysis.sharding.cost.collective_traffic import exchanged
from npuc.compiler.graph.model import Cost
from npuc.compiler.report import OpRow, Report
from npuc.dialects.distributed import DistOp
from npuc.dialects.npu.widths import widths_of
from npuc.dialects.provenance import Role, layer_of, role_of

Costs = dict[Operation, Cost]
BACKWARD = ("dx", "dw", "dxdw")


def costs_of(ops: Sequence[Operation], report: Report) -> Costs:
    """
    The cost of each operation.

    A row is that of the operation of its layer, phase and name, counted in the order of the program. Where a backend
    has rows of other units, as `roofline` has one for the backward pass of a layer, the first operation of the layer
    in this phase takes the cost of all. A program that is scored before autodiff has its forward operations alone.
    """
    exact: dict[tuple[str, str, str], list[Operation]] = defaultdict(list)
    by_phase: dict[tuple[str, str], Operation] = {}
    by_layer: dict[str, Operation] = {}
    for op in ops:
        name, phase = layer_of(op), _phase(op)
        exact[name, phase, op.name].append(op)
        by_phase.setdefault((name, phase), op)
        if phase in BACKWARD:
            by_phase.setdefault((name, "backward"), op)
        by_layer.setdefault(name, op)
    rows: dict[tuple[str, str, str], list[OpRow]] = defaultdict(list)
    for row in report.ops:
        rows[row.name, row.phase, row.op].append(row)
    costs: Costs = {}
    for (name, phase, op_name), found in rows.items():
        own = exact.get((name, phase, op_name), [])
        if len(own) == len(found):
            for op, row in zip(own, found, strict=True):
                costs[op] = costs.get(op, Cost()) + _cost(row)
            continue
        wide = by_phase.get((name, phase)) or (by_phase.get((name, "backward")) if phase in BACKWARD else None)
        home = own[0] if own else wide or by_layer.get(name) or by_layer.get(name.rpartition(".")[0])
        if home is not None:
            costs[home] = sum(map(_cost, found), start=costs.get(home, Cost()))
    return costs


def _phase(op: Operation) -> str:
    return Role.COMM.value if isinstance(op, DistOp) else role_of(op).value


def _cost(row: OpRow) -> Cost:
    moved = (row.dram_read_bytes, row.dram_write_bytes)
    return Cost(
        None if row.seconds is None else row.repeat * row.seconds,
        None if moved == (None, None) else row.repeat * sum(part or 0 for part in moved),
    )


def total_of(ops: Iterable[Operation], costs: Costs) -> Cost:
    """The cost of several operations, each nested one counted with that around it."""
    found = [costs[op] for op in ops if op in costs]
    seconds = [cost.seconds for cost in found if cost.seconds is not None]
    moved = [cost.bytes for cost in found if cost.bytes is not None]
    return Cost(math.fsum(seconds) if seconds else None, sum(moved) if moved else None)


def exchanged_bytes(ops: Iterable[DistOp]) -> dict[int, Fraction]:
    """The bytes that all devices read from each other at each level of the mesh, both directions."""
    found: dict[int, Fraction] = defaultdict(Fraction)
    for op in ops:
        size = Fraction(widths_of(op).element_bits(op.x.type), 8)
        for level, elements in exchanged(op).items():
            found[level] += 2 * elements * size
    return dict(sorted(found.items()))
