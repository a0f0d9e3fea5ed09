"""The patterns of this pass."""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from npuc.compiler.layers.base import Emit
from npuc.compiler.transforms.contraction_form.gemm import contract_by_gemm, gemm_of
from npuc.compiler.transforms.contraction_form.native import folded_ends, native_contract
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.dialects.npu import ContractOp, InterleaveOp, MoveOp, ViewOp
from npuc.dialects.provenance import derive

OpT = TypeVar("OpT", bound=Operation)


def is_settled(op: ContractOp) -> bool:
    """Whether a contraction has what is of one form of it: a schedule, residents, a mapping, units, others in turn."""
    attrs = (op.schedule_attr, op.resident_attr, op.mapping_attr, op.units_attr)
    return any(attr is not None for attr in attrs) or isinstance(op.parent_op(), InterleaveOp)


@dataclass(frozen=True, eq=False)
class FoldTranspositions(NamedPattern):
    """
    A contraction reads and writes tensors as they lie, where they are transposed before and after it.

        %t = npu.move transpose(%x) <{axes = array<i64: 0, 2, 1>}> : (tensor<4x6x5xf32>) -> tensor<4x5x6xf32>
        %m = npu.view reshape(%t) : (tensor<4x5x6xf32>) -> tensor<20x6xf32>
        %y = npu.contract (m = 20, n = 3, k = 6) ins(X = %m[m, k], W = %w[k, n]) outs(Y[m, n]) do(Y += X * W)
          : (tensor<20x6xf32>, tensor<6x3xf32>) -> tensor<20x3xf32>
        --> FoldTranspositions()
        %0 = npu.contract (m0 = 4, m1 = 5, n = 3, k = 6) ins(X = %x[m0, k, m1], W = %w[k, n]) outs(Y[m0, m1, n])
          do(Y += X * W) : (tensor<4x6x5xf32>, tensor<6x3xf32>) -> tensor<4x5x3xf32>
        %y = npu.view reshape(%0) : (tensor<4x5x3xf32>) -> tensor<20x3xf32>

    Checks that indices are single dimensions, which convolutions' are not, that no schedule, residents or mapping are
    there, that nothing else reads a result that is transposed, and that the dimensions are cut so that cuts nest; where
    they do not, the larger tensors are folded. A transposition that others read, too, stays for them.
    """

    name: ClassVar[str] = "fold-transpositions"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter, /) -> None:
        found = None if is_settled(op) else folded_ends(op)
        if found is None:
            return
        ends, cuts = found
        sources = list(op.operands)
        results = native_contract(op, ends, cuts, _emitter(op, rewriter))
        old = [value for value, _ in ends[len(op.operands) :]]
        for value, result in zip(old, results, strict=True):
            result.name_hint = value.name_hint or result.name_hint
            value.replace_all_uses_with(result)
        _erase_unread(old, rewriter)
        if op.parent is not None:
            rewriter.erase(op)
        _erase_unread(sources, rewriter)


@dataclass(frozen=True, eq=False)
class ContractByGemm(NamedPattern):
    """
    A contraction over several dimensions for M, N or K becomes transpositions and a product of matrices (TTGT).

        %y = npu.contract (a = 4, c = 5, e = 6, n = 3) ins(X = %x[a, e, c], W = %w[e, n]) outs(Y[a, c, n])
          do(Y += X * W) : (tensor<4x6x5xf32>, tensor<6x3xf32>) -> tensor<4x5x3xf32>
        --> ContractByGemm()
        %0 = npu.move transpose(%x) <{axes = array<i64: 0, 2, 1>}> : (tensor<4x6x5xf32>) -> tensor<4x5x6xf32>
        %1 = npu.view reshape(%0) : (tensor<4x5x6xf32>) -> tensor<20x6xf32>
        %2 = npu.contract (ac = 20, e = 6, n = 3) ins(X = %1[ac, e], W = %w[e, n]) outs(Y[ac, n]) do(Y += X * W)
          : (tensor<20x6xf32>, tensor<6x3xf32>) -> tensor<20x3xf32>
        %y = npu.view reshape(%2) : (tensor<20x3xf32>) -> tensor<4x5x3xf32>

    The dimensions of each group come in the order in which the fewest elements are transposed. Checks that there is one
    statement, that indices are single dimensions, each of at least two tensors, that a start has whole groups, and that
    no schedule, residents or mapping are there.
    """

    name: ClassVar[str] = "contract-by-gemm"

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter, /) -> None:
        gemm = None if is_settled(op) else gemm_of(op.nest)
        if gemm is not None:
            rewriter.replace(op, [], contract_by_gemm(op, gemm, _emitter(op, rewriter)))


def _emitter(source: Operation, rewriter: PatternRewriter) -> Emit[Any]:
    """Puts operations of the layer and role of another in front of it."""

    def emit(new: OpT) -> OpT:
        return rewriter.insert(derive(source, new))

    return emit


def _erase_unread(values: list[SSAValue], rewriter: PatternRewriter) -> None:
    """Erase the contractions, views and transpositions among the makers of values that nothing reads, and theirs."""
    for value in values:
        owner = value.owner
        if isinstance(owner, ContractOp | ViewOp | MoveOp) and owner.parent is not None:
            if all(result.first_use is None for result in owner.results):
                sources = list(owner.operands)
                rewriter.erase(owner)
                _erase_unread(sources, rewriter)


PATTERNS: tuple[type[NamedPattern], ...] = (FoldTranspositions, ContractByGemm)
