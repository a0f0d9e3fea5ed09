"""The pattern of this pass: one float type for all."""

from typing import ClassVar

from xdsl.dialects.builtin import f16
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.named_pattern import NamedPattern
from npuc.compiler.transforms.set_precision.mixed import retype, set_signature
from npuc.dialects.blocks import gather, loose_argument
from npuc.dialects.tensors import has_precision, shape_of, tensor_of, tensor_type
from npuc.dialects.train.arithmetic import CastOp, ConstantOp
from npuc.dialects.train.base import encode

LARGEST_F16 = 65504.0
"""The largest finite number of f16; a constant beyond it, which stands for infinity, becomes this."""


@frozen(eq=False)
class SetFloatType(NamedPattern):
    """
    Floats get another type: those of an operation's results, the arguments of a function and, at its return, its type.

        %c = train.constant value 1000000000.0 : () -> tensor<4xf32>
        %y = train.exp %c : (tensor<4xf32>) -> tensor<4xf32>
        --> SetFloatType(element=f16)
        %c = train.constant value 65504.0 : () -> tensor<4xf16>
        %y = train.exp %c : (tensor<4xf16>) -> tensor<4xf16>

    A cast that no longer changes anything is its operand; a finite constant beyond the range of f16 becomes its largest
    number. Applied to a function and all operations in it, first to last; other types stay. Checks the types only: that
    an operation may have such operands is checked by the verifier.
    """

    name: ClassVar[str] = "set-float-type"

    element: Attribute
    """The element type: `f16`, `bf16`, `f32` or `f64`."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, FuncOp):
            if not op.is_declaration and self._set_arguments(op):
                rewriter.notify_op_modified(op)
            return
        if isinstance(op, ReturnOp) and isinstance(func := op.parent_op(), FuncOp):
            before = func.function_type
            set_signature(func)
            if func.function_type != before:
                rewriter.notify_op_modified(func)
            return
        between = isinstance(op, CastOp) and op.x.type != op.out.type
        if any(has_precision(value) and tensor_type(value).element_type != self.element for value in op.results):
            retype(op, self.element)
            rewriter.notify_op_modified(op)
        if isinstance(op, ConstantOp) and self.element == f16 and _fit_f16(op):
            rewriter.notify_op_modified(op)
        if between and isinstance(op, CastOp) and op.x.type == op.out.type:
            rewriter.replace(op, [], [op.x])

    def _set_arguments(self, func: FuncOp) -> bool:
        """Give a function arguments whose floats have the type; whether any changed."""
        block = func.body.block
        args: list[BlockArgument] = []
        for old in list(block.args):
            if has_precision(old) and tensor_type(old).element_type != self.element:
                new = loose_argument(tensor_of(self.element, shape_of(old)), old.location, "")
                new.name_hint = old.name_hint
                old.replace_all_uses_with(new)
                args.append(new)
            else:
                args.append(old)
        changed = args != list(block.args)
        if changed:
            ops = list(block.ops)
            for op in ops:
                op.detach()
            func.body.detach_block(0)
            func.body.add_block(gather(args, ops))
        return changed


def _fit_f16(op: ConstantOp) -> bool:
    """Keep a large constant, such as the score of masked positions, finite; whether it was not."""
    value = op.value.value.data
    if not has_precision(op.out) or not LARGEST_F16 < abs(value) < float("inf"):
        return False
    op.properties["value"] = encode(max(-LARGEST_F16, min(LARGEST_F16, value)))
    return True


PATTERNS: tuple[type[NamedPattern], ...] = (SetFloatType,)
