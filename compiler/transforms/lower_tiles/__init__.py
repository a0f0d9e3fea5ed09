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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from npuc.compiler.transforms.lower_tiles.contraction import TileLowering
from npuc.dialects import npu
from npuc.dialects.npu.shared import shared_blocks
from npuc.dialects.npu.vector import fused_with
from npuc.dialects.provenance import derive

Sums: TypeAlias = dict[str, SSAValue]


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
        kinds = (npu.InterleaveOp, npu.ContractOp)
        for inner in [i for i in op.walk() if isinstance(i, kinds) and not isinstance(i.parent_op(), npu.InterleaveOp)]:
            if isinstance(inner, npu.InterleaveOp):
                ops, results = lower_interleave(inner)
                _replace(inner, (), ops, results)
            else:
                fused = fused_with(inner)
                ops, results = TileLowering(inner, fused=fused).lower()
                _replace(inner, [f.op for f in fused], ops, results)
        for work in [i for i in op.walk() if isinstance(i, npu.VectorOp)]:
            work.resident = None


def _replace(
    op: Operation, fused: Sequence[Operation], ops: Sequence[Operation], results: Mapping[SSAValue, SSAValue]
) -> None:
    """Put operations in the place of one and of those that are fused with it."""
    for old, value in results.items():
        value.name_hint = old.name_hint
        old.replace_all_uses_with(value)
    for inner in reversed(fused):
        Rewriter.erase_op(inner)
    Rewriter.replace_op(op, ops, [None for _ in op.results])


def lower_interleave(op: npu.InterleaveOp) -> tuple[list[Operation], dict[SSAValue, SSAValue]]:
    """The loads of what several contractions keep whole, and the streams of tile operations; their results."""
    contracts = op.contracts
    held: list[dict[str, SSAValue]] = [{} for _ in contracts]
    loads: list[Operation] = []
    for blocks in shared_blocks(op.round_robin):
        number, name = blocks[0]
        load, value = TileLowering(contracts[number]).load_whole(name)
        loads.append(load)
        for number, name in blocks:
            held[number][name] = value
    streams: list[Region] = []
    for contract, blocks in zip(contracts, held, strict=True):
        ops, results = TileLowering(contract, blocks).lower()
        for old, value in results.items():
            value.name_hint = old.name_hint
        streams.append(Region(Block([*ops, npu.YieldOp(list(results.values()))])))
    together = derive(op, npu.StreamsOp(streams))
    return [*loads, together], dict(zip(op.results, together.results, strict=True))
