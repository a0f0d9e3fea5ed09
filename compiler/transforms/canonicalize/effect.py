"""What canonicalisation would do to a program."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from npuc.compiler.core.frozen import frozen
from npuc.compiler.layers import get_layer
from npuc.compiler.layers.base import Kind
from npuc.compiler.transforms.canonicalize import canonicalize
from npuc.compiler.transforms.canonicalize.common import depending
from npuc.dialects.copies import copied
from npuc.dialects.train.base import TrainOp

_WORK = (Kind.MATRIX, Kind.VECTOR, Kind.DATA)


@frozen
class Effect:
    """How many operations go that take time, and how many operations on parameters become one with an equal one."""

    spared: int
    merged: int


def effect_of(module: ModuleOp) -> Effect:
    """What canonicalisation would do to a program, which stays as it is."""
    canonical = copied(module)
    merged = canonicalize(canonical)
    return Effect(_operations(module) - _operations(canonical), merged)


def _operations(module: ModuleOp) -> int:
    """The operations that take time: neither views nor computed of constants alone."""
    found = 0
    for func in module.walk():
        if isinstance(func, FuncOp) and len(func.body.blocks) == 1:
            found += sum(isinstance(op, TrainOp) and get_layer(op).kind in _WORK for op in depending(func))
    return found
