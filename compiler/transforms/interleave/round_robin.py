"""Contractions that share an operand as one operation that runs them in turn."""

from dataclasses import replace

from xdsl.ir import Block, Region, SSAValue

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.transforms.interleave.fuse import named_after
from npuc.compiler.transforms.interleave.sharing import Sharing
from npuc.dialects.npu import ContractOp, InterleaveOp, YieldOp
from npuc.dialects.npu.shared import held_bytes
from npuc.dialects.npu.tensor_work import same_value


def in_turn(found: Sharing) -> InterleaveOp:
    """One operation that runs the contractions of a set in turn, as they are. It is not in the program yet."""
    inside = [op.clone_without_regions() for op in found.ops]  # a contraction has no region
    _share_views(inside)
    yielded = [result for op in inside for result in op.results]
    return named_after(InterleaveOp(Region(Block([*inside, YieldOp(yielded)]))), found)


def _share_views(ops: list[ContractOp]) -> None:
    """Let equal views be one value, so that the operation sees what its contractions share."""
    known: dict[object, SSAValue] = {}
    for op in ops:
        for number, value in enumerate(op.operands):
            same = known.setdefault(same_value(value), value)
            if same is not value:
                op.operands[number] = same


def keep_schedules(op: InterleaveOp, machine: Machine | None) -> bool:
    """
    Keep the schedules of round-robin contractions if all have one and all blocks fit the SPM at once; else drop them.

    Says what the operation promises; whether nothing had to be dropped.
    """
    contracts = op.contracts
    had = [contract.schedule_attr is not None for contract in contracts]
    if not any(had):
        return True
    promised = [c.schedule.spm for c in contracts if c.schedule.spm is not None]
    budget = machine.spm_bytes if machine is not None else min(promised, default=None)
    outer = any(contract.schedule.outer for contract in contracts)  # contractions in turn keep blocks in SPM alone
    for contract in contracts:
        if contract.schedule.spm is not None or contract.schedule.outer:
            contract.schedule = replace(contract.schedule, spm=None, outer=())
    held = held_bytes(op.round_robin, op.spm_element_bits())
    if all(had) and not outer and (budget is None or held <= budget):
        op.spm = budget
        return True
    for contract in contracts:
        contract.schedule = None
    return False
