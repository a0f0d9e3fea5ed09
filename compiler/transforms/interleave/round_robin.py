"""Contractions that share an operand as one operation that runs them in turn."""

from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.transforms.interleave.fuse import put_in_place
from npuc.compiler.transforms.interleave.sharing import Sharing
from npuc.compiler.transforms.schedule.searches import Goal, schedule_together
from npuc.dialects.npu import ContractOp, InterleaveOp, YieldOp
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.npu.shared import joint_bytes
from npuc.dialects.npu.tensor_work import same_value


def zip_together(found: Sharing, machine: Machine | None, goal: Goal) -> bool:
    """
    Replace contractions that share an operand and may run together by one operation that runs them in turn.

    They keep their schedules if all have one and the blocks of all fit the SPM at once. If not, they lose them, and get
    new ones where one had one and the machine is known: whether it is so.
    """
    inside = [_copy(op) for op in found.ops]
    _share_views(inside)
    yielded = [result for op in inside for result in op.results]
    new = InterleaveOp(Region(Block([*inside, YieldOp(yielded)])))
    put_in_place(new, found)
    results = [result for op in found.ops for result in op.results]
    for old, result in zip(results, new.results, strict=True):
        result.name_hint = old.name_hint
        old.replace_all_uses_with(result)
    for op in found.ops:
        Rewriter.erase_op(op)
    return _settle_schedules(new, machine, goal)


def _copy(op: ContractOp) -> ContractOp:
    new = op.clone()
    new.location = op.location
    for old, result in zip(op.results, new.results, strict=True):
        result.name_hint = old.name_hint
    return new


def _share_views(ops: list[ContractOp]) -> None:
    """Let equal views be one value, so that the operation sees what its contractions share."""
    known: dict[object, SSAValue] = {}
    for op in ops:
        for number, value in enumerate(op.operands):
            same = known.setdefault(same_value(value), value)
            if same is not value:
                op.operands[number] = same


def _settle_schedules(op: InterleaveOp, machine: Machine | None, goal: Goal) -> bool:
    """Keep, drop or search the schedules, and say what the operation promises; whether they were searched."""
    contracts = op.contracts
    had = [contract.schedule_attr is not None for contract in contracts]
    if not any(had):
        return False
    promised = [c.schedule.spm for c in contracts if c.schedule.spm is not None]
    budget = machine.spm_bytes if machine is not None else min(promised, default=None)
    for contract in contracts:
        if contract.schedule_attr is not None:
            contract.schedule = Schedule(contract.schedule.loops, contract.schedule.keep)
    held = sum(sum(blocks.values()) for blocks in joint_bytes(op.round_robin, op.spm_element_bits()))
    if all(had) and (budget is None or held <= budget):
        op.spm = budget
        return False
    for contract in contracts:
        contract.schedule = None
    if machine is None:
        return False
    schedule_together(op, machine, goal)
    return True
