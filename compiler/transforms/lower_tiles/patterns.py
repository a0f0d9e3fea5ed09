"""The patterns of this pass."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.transforms.lower_tiles.contraction import TileLowering
from npuc.compiler.transforms.named_pattern import NamedPattern, replace_by_several
from npuc.dialects import npu
from npuc.dialects.npu.shared import shared_blocks
from npuc.dialects.npu.vector import fused_with
from npuc.dialects.provenance import derive


@dataclass(frozen=True, eq=False)
class ContractToTiles(NamedPattern):
    """
    A contraction, with what is fused with it, becomes the loops of its schedule around operations on blocks.

        %y = npu.contract (m = 6, n = 4, k = 8) ins(X = %x[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
          loops [n : 2] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
        --> ContractToTiles()
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c2 = arith.constant 2 : index
        %Y = npu.empty : tensor<6x4xf32>
        %X_b = npu.load %x[m, k] over (m = 0 : 6, k = 0 : 8) {tensor = "X"} : tensor<6x8xf32> -> !npu.block<6x8xf32>
        %Y_1 = scf.for %n = %c0 to %c4 step %c2 iter_args(%Y_2 = %Y) -> (tensor<6x4xf32>) {
          %W_b = npu.load %w[k, n] over (n = %n : 2, k = 0 : 8) {tensor = "W"}
            : tensor<8x4xf32> -> !npu.block<8x2xf32>
          %Y_b = npu.zero [m, n] over (m = 0 : 6, n = %n : 2) {tensor = "Y"} : !npu.block<6x2xf32>
          %Y_b_1 = npu.mac %Y_b[m, n] += %X_b[m, k] * %W_b[k, n] over (m = 0 : 6, n = %n : 2, k = 0 : 8)
            : !npu.block<6x2xf32>, !npu.block<6x8xf32>, !npu.block<8x2xf32>
          %Y_3 = npu.store %Y_b_1 into %Y_2[m, n] over (m = 0 : 6, n = %n : 2) {tensor = "Y"}
            : !npu.block<6x2xf32>, tensor<6x4xf32>
          scf.yield %Y_3 : tensor<6x4xf32>
        }
        %y = npu.finish %Y_1 {tensor = "Y"} : tensor<6x4xf32>

    A contraction without a schedule has no loops. One of several in turn stays for `interleave-to-streams`. Checks that
    each fused operation works on blocks of one output; raises `VerifyException` else.
    """

    name: ClassVar[str] = "contract-to-tiles"

    wanted: Callable[[npu.ContractOp], bool] = lambda op: True
    """Says which contractions; by default all. Resident tensors must be of contractions that are all lowered."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: npu.ContractOp, rewriter: PatternRewriter, /) -> None:
        if isinstance(op.parent_op(), npu.InterleaveOp) or not self.wanted(op):
            return
        fused = fused_with(op)
        ops, results = TileLowering(op, fused=fused).lower()
        _replace(rewriter, op, [f.op for f in fused], ops, results)


@dataclass(frozen=True, eq=False)
class InterleaveToStreams(NamedPattern):
    """
    Contractions in turn become streams of tile operations, after the loads of what several of them keep whole.

        %y, %z = npu.interleave {
          %a = npu.contract (m = 6, n = 4) ins(X = %x[m, n], W = %w[n]) outs(Y[m]) do(Y += X * W)
            loops [] : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6xf32>
          %b = npu.contract (m = 6, n = 4) ins(X = %x[m, n], V = %v[m]) outs(Z[n]) do(Z += X * V)
            loops [] : (tensor<6x4xf32>, tensor<6xf32>) -> tensor<4xf32>
          npu.yield %a, %b : tensor<6xf32>, tensor<4xf32>
        } : (tensor<6xf32>, tensor<4xf32>)
        --> InterleaveToStreams()
        %X_b = npu.load %x[m, n] over (m = 0 : 6, n = 0 : 4) {tensor = "X"} : tensor<6x4xf32> -> !npu.block<6x4xf32>
        %y, %z = npu.streams {
          %Y = npu.empty : tensor<6xf32>
          %W_b = npu.load %w[n] over (n = 0 : 4) {tensor = "W"} : tensor<4xf32> -> !npu.block<4xf32>
          %Y_b = npu.zero [m] over (m = 0 : 6) {tensor = "Y"} : !npu.block<6xf32>
          %Y_b_1 = npu.mac %Y_b[m] += %X_b[m, n] * %W_b[n] over (m = 0 : 6, n = 0 : 4)
            : !npu.block<6xf32>, !npu.block<6x4xf32>, !npu.block<4xf32>
          %Y_1 = npu.store %Y_b_1 into %Y[m] over (m = 0 : 6) {tensor = "Y"} : !npu.block<6xf32>, tensor<6xf32>
          %a = npu.finish %Y_1 {tensor = "Y"} : tensor<6xf32>
          npu.yield %a : tensor<6xf32>
        } and {
          %Z = npu.empty : tensor<4xf32>
          %V_b = npu.load %v[m] over (m = 0 : 6) {tensor = "V"} : tensor<6xf32> -> !npu.block<6xf32>
          %Z_b = npu.zero [n] over (n = 0 : 4) {tensor = "Z"} : !npu.block<4xf32>
          %Z_b_1 = npu.mac %Z_b[n] += %X_b[m, n] * %V_b[m] over (m = 0 : 6, n = 0 : 4)
            : !npu.block<4xf32>, !npu.block<6x4xf32>, !npu.block<6xf32>
          %Z_1 = npu.store %Z_b_1 into %Z[n] over (n = 0 : 4) {tensor = "Z"} : !npu.block<4xf32>, tensor<4xf32>
          %b = npu.finish %Z_1 {tensor = "Z"} : tensor<4xf32>
          npu.yield %b : tensor<4xf32>
        } : (tensor<6xf32>, tensor<4xf32>)

    Checks the blocks that they share: one that all keep whole in SPM is loaded once.
    """

    name: ClassVar[str] = "interleave-to-streams"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: npu.InterleaveOp, rewriter: PatternRewriter, /) -> None:
        ops, results = lower_interleave(op)
        _replace(rewriter, op, (), ops, results)


@dataclass(frozen=True, eq=False)
class ForgetResidency(NamedPattern):
    """
    Vector work no longer says what it finds in SPM: at the level of tiles blocks become tensors where they stay.

        %h = npu.vector exp(%x) ops 48 resident(out out0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %y = npu.vector relu(%h) ops 48 resident(in in0) : (tensor<6x8xf32>) -> tensor<6x8xf32>
        --> ForgetResidency()
        %h = npu.vector exp(%x) ops 48 : (tensor<6x8xf32>) -> tensor<6x8xf32>
        %y = npu.vector relu(%h) ops 48 : (tensor<6x8xf32>) -> tensor<6x8xf32>

    It comes after `contract-to-tiles`, which looks at what stays. Checks that the work says anything.
    """

    name: ClassVar[str] = "forget-residency"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: npu.VectorOp, rewriter: PatternRewriter, /) -> None:
        if op.resident_attr is not None:
            op.resident = None
            rewriter.notify_op_modified(op)


def _replace(
    rewriter: PatternRewriter,
    op: Operation,
    fused: Sequence[Operation],
    ops: Sequence[Operation],
    results: Mapping[SSAValue, SSAValue],
) -> None:
    """Put operations in the place of one and of those that are fused with it."""
    for old, value in results.items():
        value.name_hint = old.name_hint
        rewriter.replace_all_uses_with(old, value)
    for inner in reversed(fused):
        rewriter.erase(inner)
    replace_by_several(rewriter, op, ops, [None for _ in op.results])


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


PATTERNS: tuple[type[NamedPattern], ...] = (ContractToTiles, InterleaveToStreams, ForgetResidency)
