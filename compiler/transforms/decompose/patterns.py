"""The pattern of `decompose`: one operation as primitives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.transforms.decompose.operation import decomposed, is_primitive
from npuc.compiler.transforms.decompose.tracing.recorder import Untraceable
from npuc.compiler.transforms.named_pattern import NamedPattern, replace_by_several
from npuc.dialects.train.base import TrainOp


@dataclass(frozen=True)
class DecomposeOperation(NamedPattern):
    """
    One operation of the `train` dialect as primitives: what its numpy program does, traced.

        %y = train.relu %x --> %zero = train.constant value 0.0; %y = train.max %x, %zero
        %dx = train.conv2d_dx %dy, %w --> %f = train.flip %w …; %p = train.pad %dy …; %dx = npu.contract …

    Checks that the operation is no primitive. One whose numpy program depends on the values of its operands, such as
    `train.nms`, stays as it is.
    """

    name: ClassVar = "decompose-operation"

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Put primitives in place of a composite operation."""
        if not isinstance(op, TrainOp) or is_primitive(op):
            return
        try:
            found = decomposed(op)
        except Untraceable:
            return
        replace_by_several(rewriter, op, found.ops, found.results)


PATTERNS = (DecomposeOperation,)
