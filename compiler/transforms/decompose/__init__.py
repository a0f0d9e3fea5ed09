"""
Pass `decompose`: every operation of a training step as few primitives, each with one meaning that other compilers have.

    %y = train.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
      ->  %a = train.mul %x, %minus_one; %b = train.exp %a; …; %y = train.mul %x, %s

The primitives (`primitives.py`) are elementwise functions, moves of elements, reductions, indexed reads and writes,
constants, and `npu.contract` for matrix work. What a composite operation becomes is its layer's own numpy program, run
on arrays that write down what is done (`tracing/`), so that there is no second description of it; matrix work becomes
one contraction with invertible index maps (`contractions.py`).

    before --> after
    train.batch_norm %x, %gamma, %beta --> train.reduce, train.div, train.sub, train.mul, train.add, …
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of, raise_all
from npuc.compiler.layers.base import told_of
from npuc.compiler.transforms.canonicalize.common import merge_equal
from npuc.compiler.transforms.decompose.patterns import DecomposeOperation, Undecomposed
from npuc.compiler.transforms.named_pattern import sweep

SHOWN = 20
"""So many operations that cannot be decomposed are named in one message."""


@dataclass(frozen=True)
class DecomposePass(ModulePass):
    """Turn every composite operation of a training step into primitives that other compilers have."""

    name = "decompose"
    EXAMPLE: ClassVar = "autodiff,decompose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pattern = DecomposeOperation()
        errors: list[SourceError] = []
        for func in op.walk():
            if not isinstance(func, FuncOp) or len(func.body.blocks) != 1:
                continue
            sweep(func.body, pattern)
            merge_equal(func)
            errors += [_error(one, why) for one, why in pattern.left]
            pattern.left.clear()
        raise_all(errors[:SHOWN])


def _error(op: Operation, why: Undecomposed) -> SourceError:
    return SourceError(
        f"{told_of(op)}{op.name} has no form in primitives: {why}",
        location=location_of(op),
        hint="leave the layer out, or compile without decompose",
    )
