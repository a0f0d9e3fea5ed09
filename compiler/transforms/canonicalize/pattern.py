"""The base of rewrites with a name, and access to what the operations that they match hold."""

from typing import ClassVar, TypeVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from npuc.dialects.train.base import Param, TrainOp, decode

OpT = TypeVar("OpT", bound=Operation)


class NamedPattern(RewritePattern):
    """
    A rewrite with a name, which counts how often it was applied.

    The docstring of a pattern is its page: what it does, `before --> after`, and what it checks.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.applied = 0

    def replace(self, op: Operation, values: list[SSAValue], rewriter: PatternRewriter) -> None:
        """Let values that are there already take the place of an operation's results."""
        rewriter.replace(op, [], values)
        self.applied += 1

    def replace_by(self, op: Operation, new: Operation, rewriter: PatternRewriter) -> None:
        """Let a new operation take the place of another."""
        rewriter.replace(op, new)
        self.applied += 1


def maker(value: SSAValue, kind: type[OpT]) -> OpT | None:
    """The operation of a kind that makes a value, if it is one."""
    return value.owner if isinstance(value.owner, kind) else None


def param(op: TrainOp, name: str) -> Param | None:
    """A parameter of an operation; None for a switch that is not set."""
    attr = op.properties.get(name)
    if attr is None:
        attr = op.get_irdl_definition().properties[name].default_value
    return None if attr is None else decode(attr)
