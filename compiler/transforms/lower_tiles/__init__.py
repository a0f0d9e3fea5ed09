"""
Pass `lower-tiles`: each contraction becomes the loops of its schedule, with explicit loads, stores and macs of blocks.

    %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W) loops [m : 2]

becomes

    %W_b = npu.load %w[k, n] over (k = 0 : 8, n = 0 : 4) {tensor = "W"}
    %Y = npu.empty
    %Y1 = scf.for %m = %c0 to %c6 step %c2 iter_args(%Y2 = %Y) {
      %X_b = npu.load %x[m, k] over (m = %m : 2, k = 0 : 8) {tensor = "X"}
      %Y_b = npu.zero [m, n] over (m = %m : 2, n = 0 : 4) {tensor = "Y"}
      %Y_b1 = npu.mac %Y_b[m, n] += %X_b[m, k] * %W_b[k, n] over (m = %m : 2, n = 0 : 4, k = 0 : 8)
      %Y3 = npu.store %Y_b1 into %Y2[m, n] over (m = %m : 2, n = 0 : 4) {tensor = "Y"}
      scf.yield %Y3
    }
    %y = npu.finish %Y1 {tensor = "Y"}

Accumulators, and tensors of blocks that are stored before they are finished, have the type of partial sums. Where that
is not the result's, a finished block is converted before it is stored (`npu.convert`), a tensor as it is finished.

A tensor is loaded at the outermost place from which no further loop outside its kept block changes its block. A loop
over a dimension that is cut again inside is split into its whole steps and a shorter last one, so that trip counts
are exact in each part: a tensor whose block does not change in the last part is loaded once there. Loops of one trip
are not emitted.
"""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of
from npuc.compiler.transforms.lower_tiles.patterns import ContractToTiles, ForgetResidency, InterleaveToStreams
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.shared_units import refuse_units
from npuc.dialects.npu import GroupOp


@dataclass(frozen=True)
class LowerTilesPass(ModulePass):
    """
    Turn contractions into the loops of their schedules, with what is fused with them, and round-robin ones into
    streams.

    Other operations stay.
    """

    name = "lower-tiles"
    EXAMPLE: ClassVar = 'lower-to-npu,tile{steps="m:16"},lower-tiles'

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        refuse_units(op, self.name)
        group = next((inner for inner in op.walk() if isinstance(inner, GroupOp)), None)
        if group is not None:
            raise SourceError(
                f"{self.name}: an npu.group has no form at the level of tiles",
                location=location_of(group),
                hint="leave out the pass fuse-layers, or lower-tiles",
            )
        sweep(op.body, InterleaveToStreams(), ContractToTiles())
        sweep(op.body, ForgetResidency())
