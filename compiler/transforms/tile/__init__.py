"""
Pass `tile`: sets the steps of loops by hand.

    npu.contract (m = 6, n = 4, k = 8) … loops [m : 3, k : 2] keep(W = 1) spm 320 bytes
      -> tile{steps="m:2,k:8,n:2"} ->
    npu.contract (m = 6, n = 4, k = 8) … loops [m : 2, n : 2] keep(W = 1) spm 320 bytes

A step of the whole size removes the loop; dimensions without a loop get one, innermost, in the nest's order. For a
dimension that is tiled twice, or partitioned over cores, the innermost loop is set: its step tiles a part. A
contraction without a schedule gets one of these loops only.

Where a letter stands for several dimensions, as m for `b`, `y`, `x` of a convolution, a step counts positions of all of
them: the inner dimensions whole, one in steps, the outer ones in steps of 1. Over 8 images of 28 x 28, `m:56` is
`b : 1, y : 2`.

`keep` and `spm` do not change; a `keep` deeper than the remaining loops is an error, and so are blocks that exceed
`spm`. Without an `spm` the machine's SPM is written.
"""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.transforms.keep_resident.spans import refuse_residents
from npuc.compiler.transforms.schedule.by_hand import apply_by_hand
from npuc.compiler.transforms.schedule.pins import contracts_of, dim_names, pairs_of, require_known
from npuc.compiler.transforms.tile.patterns import Tile
from npuc.compiler.transforms.unused import remark_no_contractions


@dataclass(frozen=True)
class TilePass(ModulePass):
    """Set the steps of loops: `steps` is "m:64,n:128", `only` a glob of layer names."""

    name = "tile"
    EXAMPLE: ClassVar = 'lower-to-npu,tile{steps="m:16,n:8"}'

    steps: str
    """The step of each dimension: `m:64,n:128`."""
    only: str | None = None
    """A glob of layer names; others stay as they are."""

    def __post_init__(self) -> None:
        pairs_of("steps", self.steps)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_residents(op, self.name)
        steps = pairs_of("steps", self.steps)
        contracts = contracts_of(op, self.only)
        require_known(contracts, steps, dim_names, "loop")
        if not contracts:
            remark_no_contractions(self, op, self.only)
        apply_by_hand(Tile(steps, only=self.only), contracts)
