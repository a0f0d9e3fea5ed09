"""
A rewrite of one's own: two scalings in a row become one.

    %a = train.affine %x scale 2.0 : …
    %y = train.affine %a scale 3.0 : …      ->      %y = train.affine %x scale 6.0 : …

Run it with `npuc compile scaled.dsl --load merge_scalings.py -p "merge-scalings,autodiff,lower-to-npu,schedule"`.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern, op_type_rewrite_pattern

from npuc.dialects.provenance import derive
from npuc.dialects.train.arithmetic import AffineOp


class ScalingOfScaling(RewritePattern):
    """affine(affine(x, a), b) -> affine(x, a b), if neither adds an offset and nobody else reads the inner one."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AffineOp, rewriter: PatternRewriter, /) -> None:
        inner = op.x.owner
        if not isinstance(inner, AffineOp) or not op.x.has_one_use():
            return
        if op.offset.value.data != 0.0 or inner.offset.value.data != 0.0:
            return
        scale = op.scale.value.data * inner.scale.value.data
        rewriter.replace(op, derive(op, AffineOp(inner.x, scale=scale)))
        rewriter.erase(inner)


@dataclass(frozen=True)
class MergeScalingsPass(ModulePass):
    """Merge scalings in a row."""

    name = "merge-scalings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(ScalingOfScaling()).rewrite_module(op)


PASSES = {MergeScalingsPass.name: MergeScalingsPass}
