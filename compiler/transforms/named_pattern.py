"""Rewrites with a name, which passes are made of, and access to what the operations that they match hold."""

from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import ClassVar, TypeVar

from xdsl.ir import Operation, Region, SSAValue
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriter, PatternRewriteWalker, RewritePattern

from npuc.compiler.core.arguments import check_fields
from npuc.dialects.train.base import Param, TrainOp, decode

OpT = TypeVar("OpT", bound=Operation)


class NamedPattern(RewritePattern):
    """
    A rewrite with a name; a pass lists its patterns in `PATTERNS` of a module `patterns` in its folder.

    The docstring of a pattern is its page: what it does, `before --> after`, and what it checks. Its arguments are the
    fields of a frozen dataclass, each with a docstring. It does nothing where its result is there already.
    """

    name: ClassVar[str]

    def __post_init__(self) -> None:
        """Check the types of arguments; raises `TypeError` that names one and what was expected."""
        if is_dataclass(self):
            check_fields(self)


def maker(value: SSAValue, kind: type[OpT]) -> OpT | None:
    """The operation of a kind that makes a value, if it is one."""
    return value.owner if isinstance(value.owner, kind) else None


def param(op: TrainOp, name: str) -> Param | None:
    """A parameter of an operation; None for a switch that is not set."""
    attr = op.properties.get(name)
    if attr is None:
        attr = op.get_irdl_definition().properties[name].default_value
    return None if attr is None else decode(attr)


def apply_pattern(pattern: RewritePattern, op: Operation) -> bool:
    """
    Apply a pattern to one operation, once; whether it changed anything.

    So a pass applies what it has chosen for an operation; raises what the pattern raises.
    """
    rewriter = PatternRewriter(op)
    pattern.match_and_rewrite(op, rewriter)
    return rewriter.has_done_action


def sweep(region: Region, *patterns: RewritePattern) -> bool:
    """
    Apply to each operation of a region, in order, the first of some patterns that changes it; whether any did.

    What patterns put in is not visited.
    """
    first = GreedyRewritePatternApplier(list(patterns), dce_enabled=False)
    return PatternRewriteWalker(first, apply_recursively=False).rewrite_region(region)


def replace_by_several(
    rewriter: PatternRewriter, op: Operation, ops: Sequence[Operation], results: Sequence[SSAValue | None]
) -> None:
    """Put operations in place of one; results take the names of its results, other values that of its first one."""
    for old, new in zip(op.results, results, strict=True):
        if new is not None:
            new.name_hint = old.name_hint
    for value in (value for new in ops for value in new.results if value.name_hint is None):
        value.name_hint = op.results[0].name_hint
    rewriter.replace(op, ops, results)
