"""
Pass `group-weights`: orders the loops of scheduled contractions so that tile operations on equal weights are adjacent.

    npu.contract (…) do(Y += X * W) loops [m : 16, n : 16, k : 32]
      ->
    npu.contract (…) do(Y += X * W) loops [n : 16, k : 32, m : 16]

The loops over the streamed dimensions (M of Y = X W on a weight-stationary array) move innermost, in their order; the
order of the others does not change. So the stationary tile is reused as long as possible. `keep` is preserved if the
blocks of the new order fit `spm`, otherwise it is dropped. Traffic may grow: the schedule is the user's, and the search
chooses such an order by itself where it pays.

The machine is the module's `npu.target`. A contraction whose statements stream different dimensions is left as it is,
and so are all on a row-stationary array, in which no dimension is streamed.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.transforms.group_weights.patterns import StreamInnermost
from npuc.compiler.transforms.named_pattern import apply_pattern
from npuc.compiler.transforms.schedule.searches import known_machine
from npuc.compiler.transforms.unused import NO_SCHEDULES, remark_idle, remark_no_contractions
from npuc.dialects.npu import ContractOp
from npuc.dialects.provenance import layer_of


@dataclass(frozen=True)
class GroupWeightsPass(ModulePass):
    """Move the loops of streamed dimensions inwards; `only` is a glob of layer names."""

    name = "group-weights"
    EXAMPLE: ClassVar = 'lower-to-npu,tile{steps="m:16,n:16"},group-weights'

    only: str | None = None
    """A glob of layer names; others stay as they are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = known_machine(op, f"{self.name} depends on it")
        if machine.array.dataflow == "rs":
            remark_idle(self, "operands of a row-stationary array stay by its own rule")
            return
        contracts = [inner for inner in op.walk() if isinstance(inner, ContractOp) and self._takes(inner)]
        if not contracts and remark_no_contractions(self, op, self.only):
            remark_idle(self, NO_SCHEDULES)
        for contract in contracts:
            apply_pattern(StreamInnermost(), contract)

    def _takes(self, contract: ContractOp) -> bool:
        """Whether a contraction has a schedule and its layer matches."""
        named = self.only is None or fnmatchcase(layer_of(contract), self.only)
        return named and contract.schedule_attr is not None
