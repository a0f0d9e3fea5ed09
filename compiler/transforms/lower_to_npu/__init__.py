"""
The pass `lower-to-npu`: from tensor operations to the work of an NPU.

    %h = train.matmul %x, %w : …               %y = npu.contract (m = 6, n = 8, k = 5) ins(X = %x[m, k], W = %w[k, n])
    %y = train.add %h, %b : …            ->         outs(Y[m, n] from %b[n]) do(Y += X * W) : …
    %z = train.relu %y : …                     %z = npu.vector relu(%y) ops 48 : …

Matrix products and convolutions become `npu.contract`, natively or, with `conv=im2col`, through an explicit matrix of
windows. The rest becomes `npu.vector`, `npu.move`, `npu.view` or `npu.constant`, with its work from the layer table;
what is computed from constants alone is a constant, and a move does not read a constant that it can write by itself.
Batch normalisation's dX takes the sums that its dW has.
An addition of the same layer to a product, which is a bias or the sum of a shared weight's gradients, becomes the
start of the product's sum. What devices do together (`dist`) stays as it is.

Each of these rewrites is a pattern; the pass walks once over a function for the sums that are known, and once for all
others.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.lower_to_npu.by_layer import LowerByLayer, LowerConvByIm2col
from npuc.compiler.transforms.lower_to_npu.in_turn import Held, Remember
from npuc.compiler.transforms.lower_to_npu.known_sums import UseKnownSums
from npuc.compiler.transforms.lower_to_npu.starts import StartFromAddition
from npuc.compiler.transforms.lower_to_npu.work import LowerConstant, LowerMove, LowerVector, LowerView
from npuc.compiler.transforms.named_pattern import sweep
from npuc.compiler.transforms.unused import remark_idle, remark_unused
from npuc.dialects.npu import Col2ImOp, ContractOp, Im2ColOp, VectorOp
from npuc.dialects.train.signature import training_functions


@frozen
class LowerToNpuPass(ModulePass):
    """Lower every operation of the train dialect; `conv` chooses how convolutions become contractions."""

    name = "lower-to-npu"
    EXAMPLE: ClassVar = "lower-to-npu"

    conv: str = "native"
    """How convolutions become contractions: native, or im2col (through a matrix of windows)."""

    def __post_init__(self) -> None:
        if self.conv not in ("native", "im2col"):
            raise ValueError(f"conv is '{self.conv}', expected native or im2col")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        by_windows = LowerConvByIm2col(lambda _: self.conv == "im2col")
        lowered = Remember([by_windows, LowerConstant(), LowerByLayer(), LowerView(), LowerMove(), LowerVector()])
        started = StartFromAddition()
        changed = False
        for func in training_functions(op):
            sweep(func.body, UseKnownSums())
            changed |= sweep(func.body, Held(func.body.block), started, lowered)
        if not changed and any(isinstance(inner, ContractOp | VectorOp) for inner in op.walk()):
            remark_idle(self, "the program is lowered already")
        elif not any(isinstance(inner, Im2ColOp | Col2ImOp) for inner in op.walk()):
            remark_unused(self, ("conv",), "there is no convolution whose windows may stand in a matrix")
