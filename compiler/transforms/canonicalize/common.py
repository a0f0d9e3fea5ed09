"""Operations that compute the same from the same operands, and those whose results nobody reads."""

from collections.abc import Hashable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from npuc.compiler.core.frozen import frozen
from npuc.compiler.transforms.rewrites import count
from npuc.dialects.provenance import SOURCE, Role, role_of
from npuc.dialects.train.arithmetic import AddOp, MulOp
from npuc.dialects.train.base import TrainOp
from npuc.dialects.train.signature import ArgumentKind, arguments_of

_NAMES = frozenset(("layer", "role", SOURCE))
"""Attributes that say whose work an operation is, and not what it is."""


def depending(func: FuncOp, *kinds: ArgumentKind) -> set[Operation]:
    """The operations of a function that depend on one of its arguments, or on one of some kinds."""
    seeds = [argument.index for argument in arguments_of(func) if not kinds or argument.kind in kinds]
    reached: set[SSAValue] = {func.body.block.args[index] for index in seeds}
    found: set[Operation] = set()
    for op in func.body.block.ops:
        if any(value in reached for value in op.operands):
            found.add(op)
            reached.update(op.results)
    return found


@frozen
class Merged:
    """How many operations went since others compute the same, and how many of these depend on parameters."""

    total: int
    on_parameters: int


def merge_equal(func: FuncOp) -> Merged:
    """
    Let the first of several operations that compute the same stand for all; how many go.

    Equal are the operation, its parameters, operands and types, and all marks but layer, role and source: what is
    recomputed stays apart from its original. Updates of an optimizer stay, since they write in place.
    """
    known: dict[Hashable, Operation] = {}
    merged = on_parameters = 0
    trained = depending(func, ArgumentKind.PARAM)
    for op in list(func.body.block.ops):
        if not isinstance(op, TrainOp) or role_of(op) is Role.UPDATE:
            continue
        first = known.setdefault(_key(op), op)
        if first is not op:
            Rewriter.replace_op(op, [], list(first.results))
            merged += 1
            on_parameters += op in trained
    count("equal operations", merged)
    return Merged(merged, on_parameters)


def _key(op: TrainOp) -> Hashable:
    operands = list(map(id, op.operands))
    if isinstance(op, AddOp | MulOp):
        operands.sort()
    marks = frozenset((name, attr) for name, attr in op.attributes.items() if name not in _NAMES)
    return op.name, tuple(operands), frozenset(op.properties.items()), tuple(op.result_types), marks


def drop_dead(func: FuncOp) -> int:
    """Erase the operations whose results nobody reads, and those that only they read; the number of them."""
    dropped = 0
    for op in reversed(list(func.body.block.ops)):
        if isinstance(op, TrainOp) and is_trivially_dead(op):
            Rewriter.erase_op(op)
            dropped += 1
    count("dead operations", dropped)
    return dropped
