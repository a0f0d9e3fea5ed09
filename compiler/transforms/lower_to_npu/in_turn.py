"""What keeps a walk over a large program quick: equivalent operations are lowered once, long lists of operands wait."""

from collections.abc import Hashable, Sequence

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, RewritePattern

from npuc.compiler.transforms.lower_to_npu.work import is_constant, is_local
from npuc.compiler.transforms.rewrites import is_observed
from npuc.dialects.provenance import derive
from npuc.dialects.structural import structural_key

_MANY = 16
"""With more operands than this, an operation does not wait for its turn with them."""


class Remember(RewritePattern):
    """
    Applies the first of several patterns to an operation, and remembers what became of it.

    An equivalent one becomes the same if the patterns replaced it by a single operation with its operands and types.
    """

    def __init__(self, patterns: Sequence[RewritePattern]):
        self.first = GreedyRewritePatternApplier(list(patterns), dce_enabled=False)
        self.known: dict[Hashable, tuple[Operation, Operation]] = {}
        """By structural key, an operation and its lowering; the operation is kept, or its key would not be valid."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Lower one operation."""
        if not is_local(op):
            return
        key = None if is_observed() or any(map(is_constant, op.operands)) else structural_key(op)
        if key is not None and key in self.known:
            _, done = self.known[key]
            new = type(done).create(operands=op.operands, result_types=op.result_types, properties=done.properties)
            rewriter.replace(op, derive(op, new))
            return
        before, after, operands, types = op.prev_op, op.next_op, tuple(op.operands), op.result_types
        self.first.match_and_rewrite(op, rewriter)
        new = None if after is None else after.prev_op
        if key is None or new is None or new is op or new.prev_op is not before:
            return
        if tuple(new.operands) == operands and new.result_types == types:
            self.known[key] = op, new


class Held(RewritePattern):
    """
    Takes their operands from the operations of a block with many of them, until it is their turn in the walk.

    Replacing one operand of an operation costs time in the number of its operands, and a training step returns
    thousands, or joins as many.
    """

    def __init__(self, block: Block):
        self.held = {op: _hold(op) for op in block.ops if len(op.operands) > _MANY}

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Give an operation the operands that were held for it."""
        if op in self.held:
            held = self.held.pop(op)
            op.operands = [value for one in held for value in one.operands]
            for one in held:
                one.erase()


def _hold(op: Operation) -> list[Operation]:
    """Let the operands be used by operations with few of them."""
    values = list(op.operands)
    op.operands = []
    return [ReturnOp.create(operands=values[i : i + _MANY]) for i in range(0, len(values), _MANY)]
