"""
Pass `interleave`: contractions that share an operand run together, so that it need not be read once for each of them.

    %dx = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n]) outs(dX[m, k]) do(dX += dY * W)
    %dw = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], dY = %dy[m, n]) outs(dW[k, n]) do(dW += X * dY)
      ->
    %dx, %dw = npu.contract (m = 6, n = 4, k = 8) ins(dY = %dy[m, n], W = %w[k, n], X = %x[m, k])
        outs(dX[m, k], dW[k, n]) do(dX += dY * W, dW += X * dY)

is `mode=fused`: one nest of several statements, over the dimensions that they have in common. `mode=zip` leaves the
nests as they are and runs one tile operation of each in turn; they may have different dimensions:

    %dx, %dw = npu.interleave {
      %0 = npu.contract (…) … do(dX += dY * W)
      %1 = npu.contract (…) … do(dW += X * dY)
      npu.yield %0, %1
    }

The first has no dX where the layer reads the network's input, and no dW where its weight is frozen: one side alone
stays as it is. `together.py` says when contractions may run together, `sharing.py` which ones are looked at.

`mode=best` prices both, and the contractions one after another, and takes for each set what costs least by
`objective` (time, traffic, energy, edp), or up to `tolerance` more for the next measure, with its schedules (`best.py`,
`npuc.compiler.analysis.programs.cheapest`). It needs a machine, and leaves contractions alone that have a schedule
already.

By the other modes a fused nest has tiles of its own, and does not keep schedules; round-robin nests keep theirs if all
of them fit the SPM at once. Where one of the contractions had a schedule that is not kept, and the module says its
machine, new ones are searched at once; else `schedule` does that later.
"""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from npuc.compiler.analysis.machine.facts import Machine, machine_of
from npuc.compiler.analysis.machine.levels.views import level_names
from npuc.compiler.core.errors import UsageError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import DEFAULT_TOLERANCE
from npuc.compiler.core.stages import tell
from npuc.compiler.transforms.interleave.best import BestWays, merge_best
from npuc.compiler.transforms.interleave.fuse import have_same_dimensions
from npuc.compiler.transforms.interleave.patterns import FuseContractions, RoundRobin, no_schedule
from npuc.compiler.transforms.interleave.sharing import KINDS, Sharing, Wanted, contracts_by_block, sharing
from npuc.compiler.transforms.keep_resident.spans import refuse_residents
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.schedule.patterns import JointSchedule
from npuc.compiler.transforms.schedule.searches import Goal, goal_of, joint_schedule_for, known_machine, schedule_for
from npuc.compiler.transforms.unused import options_given, remark_idle, remark_no_contractions, remark_unused
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.npu.nest import Schedule
from npuc.dialects.provenance import layer_of
from npuc.dialects.train.signature import Writes, writes_of

MODES = ("zip", "fused", "best")


@frozen
class InterleavePass(ModulePass):
    """
    Merge contractions that share an operand: `mode` says how, `what` which (gradients, siblings, all), `objective` what
    schedules minimise, up to `tolerance` for the next measure, `only` is a glob of layer names.
    """

    name = "interleave"
    EXAMPLE: ClassVar = "autodiff,lower-to-npu,interleave{mode=fused}"

    mode: str = "fused"
    """One nest (fused), nests in turn (zip), or what costs least (best)."""
    what: str = "gradients"
    """What shares the operand: gradients (dX and dW of a product), siblings (others) or all."""
    objective: str = "time"
    """What schedules minimise: time, traffic, energy or edp."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""
    tolerance: float = DEFAULT_TOLERANCE
    """How much more than the least may be spent for the next measure, as a fraction."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is '{self.mode}', expected {', '.join(MODES)}")
        if self.what not in KINDS:
            raise ValueError(f"what is '{self.what}', expected {', '.join(KINDS)}")
        goal_of(self.objective, self.tolerance)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_residents(op, self.name)
        machine = known_machine(op, "mode=best depends on it") if self.mode == "best" else machine_of(op)
        if machine is not None and machine.levels and self.mode != "fused":
            names = ", ".join(level_names(machine))
            raise PassFailedException(
                f"{self.name}: contractions in turn keep blocks in SPM alone, and the machine has {names} between SPM "
                "and DRAM: mode=fused makes one nest of them"
            )
        set_before = {one for one in op.walk() if isinstance(one, ContractOp) and one.schedule_attr is not None}
        merged, searched = 0, False
        for wanted in KINDS[self.what]:
            for contracts in contracts_by_block(op, self.only):
                if self.mode == "best" and machine is not None:
                    found = self._take_best([one for one in contracts if one not in set_before], wanted, machine)
                    merged, searched = merged + found, searched or found > 0
                else:
                    found, anew = self._merge(contracts, wanted, machine)
                    merged, searched = merged + found, searched or anew
        if merged == 0:
            self._remark_idle(op)
        elif not searched:
            why = f"mode={self.mode} searches schedules only in place of those that contractions have"
            remark_unused(self, ("objective", "tolerance"), why)

    def _remark_idle(self, module: ModuleOp) -> None:
        """Tell why no contractions were merged, where options or the place in the pipeline are the reason."""
        if not remark_no_contractions(self, module, self.only):
            return
        sets = (sharing(c, _writes(c), w) for c in contracts_by_block(module, self.only) for w in KINDS[self.what])
        together = (isinstance(op, ContractOp) and len(op.nest.statements) > 1 for op in module.walk())
        if self.mode == "best" and any(True for found in sets for _ in found):
            remark_idle(self, "contractions that share an operand have schedules: it comes before schedule")
        elif any(isinstance(op, InterleaveOp) for op in module.walk()) or any(together):
            remark_idle(self, "what shares an operand runs together already")
        elif options_given(self):
            remark_idle(self, "no such contractions share an operand")

    def _take_best(self, contracts: list[ContractOp], wanted: Wanted, machine: Machine) -> int:
        """Merge the sets of one kind among the contractions of one block where that costs less: their number."""
        count, ways = 0, BestWays(machine, goal_of(self.objective, self.tolerance))
        try:
            for count, found in enumerate(sharing(contracts, _writes(contracts), wanted), 1):
                tell(f"{self.name} {layer_of(found.ops[0])}")
                merge_best(found, ways)
        except UsageError as e:
            raise PassFailedException(f"{self.name}: {e.message}") from e
        return count

    def _merge(self, contracts: list[ContractOp], wanted: Wanted, machine: Machine | None) -> tuple[int, bool]:
        """Merge the sets of one kind among the contractions of one block: their number, and whether it searched."""
        zipped = self.mode == "zip"
        found = list[Sharing]()
        search = _Search(machine, goal_of(self.objective, self.tolerance))
        for one in sharing(contracts, _writes(contracts), lambda s: wanted(s) and (zipped or have_same_dimensions(s))):
            found.append(one)
            first = one.ops[0]
            if zipped:
                tell(f"{self.name} {layer_of(first)}")
                apply_pattern(RoundRobin(one.at_first, search.jointly), first)
            else:
                scheduled = any(op.schedule_attr is not None for op in one.ops)
                apply_pattern(FuseContractions(one.at_first, search.alone if scheduled else no_schedule), first)
        return len(found), search.done


@dataclass
class _Search:
    """Searches schedules in place of those that contractions had, where the machine is known; `done`: it did."""

    machine: Machine | None
    goal: Goal
    done: bool = False

    def alone(self, op: ContractOp) -> Schedule | None:
        """The best schedule of a contraction."""
        if self.machine is None:
            return None
        self.done = True
        return schedule_for(op, self.machine, self.goal)

    def jointly(self, op: InterleaveOp) -> JointSchedule | None:
        """The best schedules of contractions that run round-robin."""
        if self.machine is None:
            return None
        self.done = True
        return joint_schedule_for(op, self.machine, self.goal)


def _writes(contracts: list[ContractOp]) -> Writes:
    """What the operations of the block of these contractions write in place."""
    block = contracts[0].parent if contracts else None
    return {} if block is None else writes_of(block)
