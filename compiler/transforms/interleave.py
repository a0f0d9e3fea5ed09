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
stays as it is. `_together.py` says when contractions may run together, `_sharing.py` which ones are looked at.

A fused nest has tiles of its own, and does not keep schedules; nests in turn keep theirs if all of them fit the SPM at
once. Where one of the contractions had a schedule that is not kept, and the module says its machine, new ones are
searched at once; else `schedule` does that later.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from npuc.compiler.analysis.machine import Machine, machine_of
from npuc.compiler.transforms._fuse import fuse, have_same_dimensions
from npuc.compiler.transforms._scheduling import schedule_for
from npuc.compiler.transforms._sharing import KINDS, Wanted, sharing
from npuc.compiler.transforms._together import writes_of
from npuc.compiler.transforms._zip import zip_together
from npuc.dialects.npu import ContractOp, InterleaveOp
from npuc.dialects.provenance import layer_of

MODES = ("zip", "fused")


@dataclass(frozen=True)
class InterleavePass(ModulePass):
    """
    Merge contractions that share an operand: `mode` says how, `what` which (gradients, siblings, all), `only` is a
    glob of layer names.
    """

    name = "interleave"

    mode: str = "fused"
    what: str = "gradients"
    only: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is '{self.mode}', expected {' or '.join(MODES)}")
        if self.what not in KINDS:
            raise ValueError(f"what is '{self.what}', expected {', '.join(KINDS)}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for wanted in KINDS[self.what]:
            for contracts in self._contracts(op):
                self._merge(contracts, wanted, machine)

    def _contracts(self, module: ModuleOp) -> list[list[ContractOp]]:
        """The contractions that the pass may merge, in order, those of each block together."""
        found: dict[Block, list[ContractOp]] = {}
        for op in module.walk():
            if isinstance(op, ContractOp) and (self.only is None or fnmatchcase(layer_of(op), self.only)):
                block = op.parent
                assert block is not None
                if isinstance(block.parent_op(), InterleaveOp):
                    continue
                found.setdefault(block, []).append(op)
        return list(found.values())

    def _merge(self, contracts: list[ContractOp], wanted: Wanted, machine: Machine | None) -> None:
        """Merge the sets of one kind among the contractions of one block."""
        block = contracts[0].parent
        assert block is not None
        if self.mode == "zip":
            for found in sharing(contracts, writes_of(block), wanted):
                zip_together(found, machine)
            return
        for found in sharing(contracts, writes_of(block), lambda s: wanted(s) and have_same_dimensions(s)):
            scheduled = any(op.schedule_attr is not None for op in found.ops)
            new = fuse(found)
            if scheduled and machine is not None:
                new.schedule = schedule_for(new, machine, "time")
