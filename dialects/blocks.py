"""
Functions with many arguments, built in linear time.

xDSL inserts one block argument at a time, each time copying all the others. Here a function's body is made from loose
arguments, each in a block of its own, that are gathered once.
"""

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue


def loose_argument(type: Attribute, location: LocationAttr, hint: str) -> BlockArgument:
    """An argument of no function yet; `gather` gives it one."""
    (argument,) = Block(arg_types=[type]).args
    argument.location = location
    argument.name_hint = name_hint(hint)
    return argument


def gather(arguments: Sequence[BlockArgument], operations: Iterable[Operation]) -> Block:
    """A block with arguments in place of the given ones, in their order, and the given detached operations."""
    block = Block(arg_types=[a.type for a in arguments])
    for old, new in zip(arguments, block.args, strict=True):
        new.name_hint, new.location = old.name_hint, old.location
        old.replace_all_uses_with(new)
    block.add_ops(operations)
    return block


def name_hint(name: str) -> str:
    """A name as xDSL accepts it for a value: ASCII letters, digits and underscores, not a digit first."""
    hint = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    return hint if hint and not hint[0].isdigit() else f"_{hint}"


def needed(operations: Sequence[Operation], results: Iterable[SSAValue]) -> tuple[list[Operation], set[SSAValue]]:
    """
    The detached operations that compute `results`, in their order, and all values they need; the others are erased.

    Nothing outside the given operations may use their results, other than as `results`.
    """
    values, kept = set(results), list[Operation]()
    for op in reversed(operations):
        if any(result in values for result in op.results):
            values.update(op.operands)
            kept.append(op)
        else:
            op.erase()
    return kept[::-1], values
