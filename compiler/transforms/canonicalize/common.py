"""Operations that compute the same from the same operands, and those whose results nobody reads."""

from collections.abc import Hashable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from npuc.compiler.transforms.rewrites import count
from npuc.dialects.provenance import Role, role_of
from npuc.dialects.train.arithmetic import AddOp, MulOp
from npuc.dialects.train.base import TrainOp

_NAMES = frozenset(("layer", "role"))
"""Attributes that say whose work an operation is, and not what it is."""


def merge_equal(func: FuncOp) -> int:
    """
    Let the first of several operations that compute the same stand for all; the number of those that go.

    Equal are the operation, its parameters, operands and types, and all marks but layer and role: what is recomputed
    stays apart from its original. Updates of an optimizer stay, since they write in place.
    """
    known: dict[Hashable, Operation] = {}
    merged = 0
    for op in list(func.body.block.ops):
        if not isinstance(op, TrainOp) or role_of(op) is Role.UPDATE:
            continue
        first = known.setdefault(_key(op), op)
        if first is not op:
            Rewriter.replace_op(op, [], list(first.results))
            merged += 1
    count("equal operations", merged)
    return merged


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
