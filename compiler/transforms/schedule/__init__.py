"""
Pass `schedule`: searches the best schedule of every contraction without one, on the machine of the module.

    npu.contract (m = 6, n = 4, k = 8) ins(…) outs(…) do(…)
      ->
    npu.contract (m = 6, n = 4, k = 8) ins(…) outs(…) do(…) loops [m : 2, k : 2, n : 2] keep(W = 1) spm 320 bytes

Contractions that run round-robin (`npu.interleave`) are scheduled jointly, and that operation carries their SPM budget.

A contraction with a mapping that the machine's arrays can follow gets the schedule that does what the mapping says.

The machine is the module's `npu.target`, which the driver or the pass `set-target` writes. The option `objective` is
the cost to be minimised: time, traffic, energy or edp (energy x delay). Among schedules that cost up to `tolerance`
more than the least, as a fraction, the next measure decides (`analysis/schedule/near_ties.py`).
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.programs.search_tolerance import write_tolerance
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import DEFAULT_TOLERANCE
from npuc.compiler.core.stages import each
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.schedule.patterns import SetJointSchedule, SetSchedule
from npuc.compiler.transforms.schedule.searches import (
    Goal,
    followed,
    goal_of,
    joint_schedule_for,
    known_machine,
    schedule_for,
)
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.provenance import layer_of


@frozen
class SchedulePass(ModulePass):
    """Write loops, keep and spm on contractions without a schedule; `only` is a glob of layer names."""

    name = "schedule"
    EXAMPLE: ClassVar = "lower-to-npu,schedule"

    objective: str = "time"
    """What schedules minimise: time, traffic, energy or edp."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""
    tolerance: float = DEFAULT_TOLERANCE
    """How much more than the least may be spent for the next measure, as a fraction."""

    def __post_init__(self) -> None:
        goal_of(self.objective, self.tolerance)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        goal = goal_of(self.objective, self.tolerance)
        machine = known_machine(op, f"{self.name} depends on it")
        write_tolerance(op, machine, self.tolerance)
        wanted = list(self._wanted(op))
        if not wanted and remark_no_contractions(self, op, self.only):
            remark_idle(self, f"all contractions{f' of {self.only}' if self.only else ''} have schedules")
        for inner in each(self.name, "contractions", wanted):
            try:
                schedule_operation(inner, machine, goal)
            except UsageError as e:
                raise PassFailedException(f"{self.name}: {e.message}") from e

    def _wanted(self, module: ModuleOp) -> Iterator[Operation]:
        """The contractions without a schedule or units, and those that run round-robin where one has none."""
        for op in module.walk():
            if self.only is not None and not fnmatchcase(layer_of(op), self.only):
                continue
            if isinstance(op, InterleaveOp):
                if any(contract.schedule_attr is None for contract in op.contracts):
                    yield op
            elif isinstance(op, ContractOp) and op.schedule_attr is None and op.units_attr is None:
                if not isinstance(op.parent_op(), InterleaveOp):
                    yield op


def schedule_operation(op: Operation, machine: Machine, goal: Goal) -> None:
    """
    Give a contraction the schedule that its mapping says, else the best, or those that run round-robin theirs.

    Raises `CapacityError`, at the operation's place, where not even the smallest tiles fit, and `UsageError` for a goal
    that needs what the machine does not say.
    """
    if isinstance(op, InterleaveOp):
        apply_pattern(SetJointSchedule(lambda one: joint_schedule_for(one, machine, goal)), op)
    else:
        apply_pattern(SetSchedule(lambda one: followed(one, machine) or schedule_for(one, machine, goal)), op)
