"""
The pass `set-precision`: the float types of a program, before any cost model.

    set-precision{to=bf16}      every float of the program is bf16: parameters, inputs, states, statistics, values
    set-precision{to=mixed}     what PyTorch's autocast does, with parameters, gradients and states of f32

    %y = train.matmul %x, %w : (tensor<8x4xf32>, …)      %xl = train.cast %x : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %p = train.softmax %y : …                       ->   %wl = train.cast %w {layer = "fc.weight"} : …
                                                         %y = train.matmul %xl, %wl : …
                                                         %yw = train.cast %y : (tensor<8x2xbf16>) -> tensor<8x2xf32>
                                                         %p = train.softmax %yw : …

Integers and booleans stay as they are. With `mixed` each operation has the type that `_autocast` says; a value is cast
once, right before its first use in the other type, and all uses share the result. The cast of a parameter, the cached
16-bit weight, is an operation of its own under the parameter's name, and its derivative casts the gradient back to
f32. A training step that `autodiff` made is undone and derived again.

One type for all is set by the pattern `set-float-type`. Mixed precision is not a pattern: what an operation computes in
follows from the whole function, and casts are shared.
"""

from collections.abc import Iterator
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ModuleOp,
    bf16,
    f16,
    f32,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from npuc.compiler.core.errors import SourceError
from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import PRECISIONS
from npuc.compiler.core.verify import location_of
from npuc.compiler.transforms.autodiff import differentiate
from npuc.compiler.transforms.autodiff.undo import undo_autodiff
from npuc.compiler.transforms.named_pattern import apply_pattern, sweep
from npuc.compiler.transforms.set_precision.mixed import Mixed
from npuc.compiler.transforms.set_precision.patterns import SetFloatType
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import is_differentiated

_ELEMENTS: dict[str, Attribute] = {"f32": f32, "f16": f16, "bf16": bf16}
_ON_TENSORS = frozenset(
    f"npu.{name}"
    for name in ("contract", "interleave", "yield", "vector", "move", "view", "constant", "im2col", "col2im")
)
"""Operations that `lower-to-npu` and `interleave` make of whole tensors, whose types follow the arguments'."""


@frozen
class SetPrecisionPass(ModulePass):
    """
    Give a program other float types: `to` is as-written, f32, f16, bf16 or mixed.

    One type for all floats may be given at the levels `train` and `npu`, mixed precision to a network of the level
    `train`. Raises `SourceError` at the first operation of a lower level.
    """

    name = "set-precision"
    EXAMPLE: ClassVar = "set-precision{to=mixed}"

    to: str
    """as-written, f32, f16, bf16 or mixed."""

    def __post_init__(self) -> None:
        if self.to not in PRECISIONS:
            raise ValueError(f"to is '{self.to}', expected {', '.join(PRECISIONS)}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.to == "as-written":
            return
        for func in functions_of(op):
            self._check(func)
            if self.to != "mixed":
                set_floats(func, _ELEMENTS[self.to])
                continue
            whole = is_differentiated(func)
            if whole:
                undo_autodiff(func, self.name)
            Mixed(func).rewrite()
            if whole:
                differentiate(func)

    def _check(self, func: FuncOp) -> None:
        """Refuse programs that are lowered too far."""
        lowered = too_low(func, self.to)
        if lowered is not None:
            expected = "train operations" if self.to == "mixed" else "operations on tensors"
            raise SourceError(
                f"{self.name}: found {lowered.name}, expected {expected}",
                location=location_of(lowered),
                hint=f"{self.name} comes before lower-to-npu",
            )


def functions_of(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions of a module that have a body."""
    return (op for op in module.ops if isinstance(op, FuncOp) and not op.is_declaration)


def too_low(func: FuncOp, precision: str) -> Operation | None:
    """The first operation of a function whose types cannot be set; None without one."""
    for op in func.body.walk():
        if not isinstance(op, TrainOp | ReturnOp) and (precision == "mixed" or op.name not in _ON_TENSORS):
            return op
    return None


def set_floats(func: FuncOp, element: Attribute) -> None:
    """Give all floats of a function a type."""
    pattern = SetFloatType(element)
    apply_pattern(pattern, func)
    sweep(func.body, pattern)
