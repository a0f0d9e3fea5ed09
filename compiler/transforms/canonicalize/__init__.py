"""
Pass `canonicalize`: what a program need not compute, it does not: identities, repeated and undone work, dead code.

    %a = train.transpose %x axes [1, 0] : …
    %b = train.transpose %a axes [1, 0] : …
    %h = train.relu %b : …
    %y = train.relu %h : …                   ->      %h = train.relu %x : …

Its patterns work on the `train` level, before `autodiff` or after it, and keep every value and every gradient: products
and sums are not reordered. Operations that compute the same are computed once, those that nobody reads are erased.
Constants are folded up to a size. Other dialects are canonicalised as xDSL does it.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker
from xdsl.transforms.canonicalize import CanonicalizePass as UpstreamCanonicalizePass

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.canonicalize.common import drop_dead, merge_equal
from npuc.compiler.transforms.canonicalize.patterns import PATTERNS


@frozen
class CanonicalizePass(ModulePass):
    """Leave out what need not be computed: identities, undone and repeated work, equal operations, dead code."""

    name = "canonicalize"
    EXAMPLE: ClassVar = "set-precision{to=mixed},set-precision{to=f32},canonicalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        canonicalize(op)


def canonicalize(module: ModuleOp) -> int:
    """Canonicalise a program in place; how many operations on parameters became one with an equal one."""
    UpstreamCanonicalizePass().apply(Context(), module)
    merged = 0
    for func in module.walk():
        if not isinstance(func, FuncOp) or len(func.body.blocks) != 1:
            continue
        walker = PatternRewriteWalker(GreedyRewritePatternApplier([kind() for kind in PATTERNS]))
        while True:
            rewritten, equal = walker.rewrite_region(func.body), merge_equal(func)
            merged += equal.on_parameters
            if not drop_dead(func) and not rewritten and not equal.total:
                break
    return merged
