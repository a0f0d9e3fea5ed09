"""
Functions with many arguments, built in linear time.

xDSL inserts one block argument at a time, each time copying all the others. Here a function's body is made from loose
arguments that are gathered once.
"""

import re
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

_FOREIGN = re.compile(r"[^A-Za-z0-9_]")
_NOWHERE = Block()


class _Body(Block):
    """A block that takes over arguments that exist."""

    def __init__(self, arguments: Iterable[BlockArgument], operations: Iterable[Operation]):
        super().__init__()
        self._args = tuple(arguments)
        for index, argument in enumerate(self._args):
            argument.block, argument.index = self, index
        self.add_ops(operations)


def loose_argument(type: Attribute, location: LocationAttr, hint: str) -> BlockArgument:
    """An argument of no function yet; `gather` gives it one."""
    argument = BlockArgument(type, _NOWHERE, 0, location)
    argument.name_hint = name_hint(hint)
    return argument


def gather(arguments: Iterable[BlockArgument], operations: Iterable[Operation]) -> Block:
    """A block that takes over the given arguments, in their order, and the given detached operations."""
    return _Body(arguments, operations)


def name_hint(name: str) -> str:
    """A name as xDSL accepts it for a value: ASCII letters, digits and underscores, not a digit first."""
    hint = _FOREIGN.sub("_", name)
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
