"""
Gradients of parameters are summed over devices in the parameters' own type.

    %c = train.cast %w : (tensor<8x4xf32>) -> tensor<8x4xbf16>         %r = dist.copy %w over [0]
    %r = dist.copy %c over [0]                                   ->    %c = train.cast %r : …

The derivative of `dist.copy` is the sum, that of the cast gives the gradient the parameter's type: this way round the
sum comes last, as in PyTorch, whose data parallelism reduces the gradients that the optimizer reads.
"""

from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.rewriter import Rewriter

from npuc.dialects.dist.collective import CopyOp
from npuc.dialects.train.arithmetic import CastOp
from npuc.dialects.train.base import ints
from npuc.dialects.train.shape import ReshapeOp


def sum_in_own_type(func: FuncOp) -> None:
    """Move copies of casts of a function's arguments in front of the casts, where all uses are copies alike."""
    for op in list(func.body.block.ops):
        if isinstance(op, CastOp) and isinstance(op.x, BlockArgument):
            copies = _copies(op.out)
            if copies and len({ints(copy.over) for copy in copies}) == 1:
                _move(op, copies)


def _copies(value: SSAValue) -> list[CopyOp] | None:
    """The copies that all uses of a value, also under other shapes, are; None where one is something else."""
    found: list[CopyOp] = []
    for use in value.uses:
        user = use.operation
        inner = [user] if isinstance(user, CopyOp) else _copies(user.out) if isinstance(user, ReshapeOp) else None
        if inner is None:
            return None
        found += inner
    return found


def _move(cast: CastOp, copies: list[CopyOp]) -> None:
    """Let the cast read a copy of the argument, that of an earlier reader if there is one, and nobody copy the cast."""
    argument, over = cast.x, copies[0].over
    alike = [use.operation for use in argument.uses if _is_copy(use.operation, over)]
    block = cast.parent
    assert block is not None
    copied = CopyOp.create(
        operands=[argument], result_types=[argument.type], properties={"over": over}, attributes=copies[0].attributes
    )
    copied.location = copies[0].location
    place: Operation = cast
    for other in alike:
        if other.is_before_in_block(place):
            place = other
    block.insert_op_before(copied, place)
    for other in alike:
        Rewriter.replace_op(other, [], [copied.out])
    cast.operands[0] = copied.out
    for copy in copies:
        Rewriter.replace_op(copy, [], [copy.x])


def _is_copy(op: Operation, over: object) -> bool:
    return isinstance(op, CopyOp) and op.over == over
