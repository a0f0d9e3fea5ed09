"""
Pass `keep`: sets by hand which tensors are resident in SPM, over how many loops.

    npu.contract … loops [m : 2, k : 2, n : 2] spm 320 bytes
      -> keep{tensors="dY:2,W:3"} ->
    npu.contract … loops [m : 2, k : 2, n : 2] keep(dY = 2, W = 3) spm 320 bytes

The number of a tensor is its keep depth: the number of innermost loops over which its block stays in SPM; 0, the
default, keeps one tile. The depths of other tensors and `spm` do not change; blocks that exceed `spm` are an error.
Without an `spm` the machine's SPM is written.
"""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.transforms.keep.patterns import SetKeepDepths
from npuc.compiler.transforms.keep_resident.spans import refuse_residents
from npuc.compiler.transforms.schedule.by_hand import apply_by_hand
from npuc.compiler.transforms.schedule.pins import contracts_of, pairs_of, require_known
from npuc.compiler.transforms.unused import remark_idle, remark_no_contractions


@dataclass(frozen=True)
class KeepPass(ModulePass):
    """Set keep depths: `tensors` is "dY:2,W:3", in innermost loops; `only` is a glob of layer names."""

    name = "keep"
    EXAMPLE: ClassVar = 'lower-to-npu,tile{steps="m:16,n:16"},keep{tensors="W:1"}'

    tensors: str
    """The number of innermost loops by tensor: `dY:2,W:3`."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""

    def __post_init__(self) -> None:
        pairs_of("tensors", self.tensors)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_residents(op, self.name)
        depths = pairs_of("tensors", self.tensors)
        contracts = contracts_of(op, self.only)
        require_known(contracts, depths, lambda nest: nest.tensors, "tensor")
        pattern = SetKeepDepths(depths, only=self.only)
        if all(pattern.schedule_of(one) is None for one in contracts) and remark_no_contractions(self, op, self.only):
            remark_idle(self, "contractions without a schedule keep one tile of every tensor")
        apply_by_hand(pattern, contracts)
