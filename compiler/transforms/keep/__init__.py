"""
Pass `keep`: sets by hand which tensors are resident in SPM, over how many loops.

    npu.contract … loops [m : 2, k : 2, n : 2] spm 320 bytes
      -> keep{tensors="dY:2,W:3"} ->
    npu.contract … loops [m : 2, k : 2, n : 2] keep(dY = 2, W = 3) spm 320 bytes

The number of a tensor is its keep depth: the number of innermost loops over which its block stays in SPM; 0, the
default, keeps one tile. The depths of other tensors and `spm` do not change; blocks that exceed `spm` are an error.
Without an `spm` the machine's SPM is written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.analysis.machine.facts import machine_of
from npuc.compiler.transforms.keep_resident.spans import refuse_residents
from npuc.compiler.transforms.schedule.pins import contracts_of, named, pairs_of, require_known, settle, usage_error
from npuc.compiler.transforms.unused import has_contractions, remark_idle
from npuc.dialects.npu import ContractOp
from npuc.dialects.npu.nest import Nest, Schedule


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
        changed: list[ContractOp] = []
        for contract in contracts:
            mine = {name: depth for name, depth in depths.items() if name in contract.nest.tensors}
            if not mine or (contract.schedule_attr is None and not any(mine.values())):
                continue
            if not contract.schedule.loops and any(mine.values()):
                raise usage_error(
                    contract, f"{named(contract)} has no loops to keep a tensor over", "tile or schedule before keep"
                )
            contract.schedule = with_keep_depths(contract.nest, contract.schedule, mine)
            changed.append(contract)
        if not changed and has_contractions(self, op, self.only):
            remark_idle(self, "contractions without a schedule keep one tile of every tensor")
        settle(changed, machine_of(op))


def with_keep_depths(nest: Nest, schedule: Schedule, depths: Mapping[str, int]) -> Schedule:
    """The schedule with these keep depths, tensors in the nest's order."""
    every = schedule.keep_depths | dict(depths)
    return replace(schedule, keep=tuple((name, every[name]) for name in nest.tensors if every.get(name)))
