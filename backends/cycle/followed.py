"""Contractions whose mappings the arrays follow, and what of their cycles the mappings say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from npuc.compiler.analysis.machine.array import PLACES
from npuc.compiler.analysis.machine.facts import Machine, machine_of
from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of
from npuc.compiler.report import OpRow
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.provenance import layer_of


def unfollowed(op: ContractOp) -> str | None:
    """Why the arrays of the module's machine do not follow the mapping that a contraction has; None where they do."""
    from npuc.compiler.analysis.mapping.followed import followed_schedule

    assert op.mapping_attr is not None
    module = op.get_toplevel_object()
    machine = machine_of(module) if isinstance(module, ModuleOp) else None
    if machine is None:
        return "it has a mapping, which is for a machine that the module does not say"
    found = followed_schedule(op.mapping_attr.data, op.nest, machine.array, machine.cores)
    if isinstance(found, str):
        return f"its mapping {found}"
    if isinstance(op.parent_op(), InterleaveOp):
        return "it has a mapping, and takes turns with another contraction"
    if op.schedule_attr is not None and op.schedule.loops != found.loops:
        return "its schedule is not what its mapping says"
    return None


def refuse_mapped(ops: Sequence[Operation], model: str) -> None:
    """Raise `SourceError` for the first contraction that has a mapping, which a model follows none of."""
    for op in ops:
        if isinstance(op, ContractOp) and op.mapping_attr is not None:
            hint = "-b maestro, or compile the program as it was before npuc map"
            raise SourceError(
                f"{layer_of(op) or 'a contraction'}: {model} follows no mapping", location=location_of(op), hint=hint
            )


def followed_warnings(ops: Sequence[Operation], rows: Sequence[OpRow], machine: Machine) -> Iterator[str]:
    """Of contractions that follow mappings, which of their cycles the mappings say and which they do not."""
    places = {number for number, op in enumerate(ops) if isinstance(op, ContractOp) and op.mapping_attr is not None}
    own = [row for row in rows if row.index in places and row.cycles is not None]
    if not own or machine.array.dataflow not in PLACES:
        return
    steps = cycles = compute = 0
    for row in own:
        sizes = {"m": int(row.m or 1), "n": int(row.n or 1), "k": int(row.k or 1)}
        folds = int(machine.array.folds(sizes["m"], sizes["n"], sizes["k"]))
        steps += row.repeat * folds * sizes[PLACES[machine.array.dataflow][2]]
        cycles += row.repeat * int(row.cycles or 0)
        compute += row.repeat * int(row.compute_cycles or 0)
    count = f"{len(own):,} contraction{'s follow their mappings' if len(own) > 1 else ' follows its mapping'}"
    yield (
        f"{count}: {steps:,} of {cycles:,} cycles are the steps that mappings say; {compute - steps:,} more fill and "
        f"drain the array, and {cycles - compute:,} wait for DRAM (the backend maestro has no fill, and waits for the "
        "network and off chip instead)"
    )
