"""
Pass `decompose`: every operation of a training step as few primitives, each with one meaning that other compilers have.

    %y = train.silu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
      ->  %a = train.mul %x, %minus_one; %b = train.exp %a; …; %y = train.mul %x, %s

The primitives (`primitives.py`) are elementwise functions, moves of elements, reductions, indexed reads and writes,
constants, random bits, and `npu.contract` for matrix work. Of all 74 of them 50 are elementwise, each one function that
numpy, MLIR and StableHLO have alike: 22 roots, powers and transcendental functions, of which none is made of others to
the bit (`log1p` is no `log` of a sum), 11 of arithmetic and rounding, 9 of bits and booleans, 6 comparisons, a choice
and a cast. What a composite operation becomes is its layer's own numpy program, run on arrays that write down what is
done (`tracing/`); matrix work becomes one contraction with invertible index maps (`contractions.py`).

Eight operations have a second description (`forms.py`), as their numpy programs pick elements by labels or regions or
draw numbers: cross entropy, the negative log-likelihood and `roi_align`, each with its gradient, the gradient of an
embedding, and dropout. Tests compare what each computes with the layer, as they do for every function of the language.

    before --> after
    train.batch_norm %x, %gamma, %beta --> train.reduce, train.div, train.sub, train.mul, train.add, …
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.verify import location_of, raise_all
from npuc.compiler.layers.base import told_of
from npuc.compiler.transforms.canonicalize.common import merge_equal
from npuc.compiler.transforms.decompose.operation import decomposed, is_primitive
from npuc.compiler.transforms.decompose.patterns import DecomposeOperation
from npuc.compiler.transforms.decompose.tracing.recorder import Untraceable
from npuc.compiler.transforms.named_pattern import sweep
from npuc.dialects.train.base import TrainOp

SHOWN = 20
"""So many operations that cannot be decomposed are named in one message."""


@dataclass(frozen=True)
class DecomposePass(ModulePass):
    """Turn every composite operation of a training step into primitives that other compilers have."""

    name = "decompose"
    EXAMPLE: ClassVar = "autodiff,decompose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.walk():
            if isinstance(func, FuncOp) and len(func.body.blocks) == 1:
                sweep(func.body, DecomposeOperation())
                merge_equal(func)
        left = (one for one in op.walk() if isinstance(one, TrainOp) and not is_primitive(one))
        raise_all([_error(one) for one in islice(left, SHOWN)])


def _error(op: TrainOp) -> SourceError:
    """Why an operation is left."""
    try:
        decomposed(op)
    except Untraceable as why:
        return SourceError(
            f"{told_of(op)}{op.name} has no form in primitives: {why}",
            location=location_of(op),
            hint="leave the layer out, or compile without decompose",
        )
    raise AssertionError(f"{op.name} has primitives and was left")
