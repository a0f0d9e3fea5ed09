"""
Who looks at the rewrites of patterns, and at what passes count besides.

    with observed(observer):            # every pattern with a name tells `observer` what it does
        run_pipeline(…)
    count("equal operations merged", 3) # in a pass: nothing unless somebody counts

While nobody looks, patterns run as they are: `match_and_rewrite` is replaced for as long as somebody does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

Apply = Callable[[Any, Operation, PatternRewriter], None]


class Observer:
    """Sees the rewrites of patterns; it changes nothing."""

    def begin(self, pattern: str, op: Operation, rewriter: PatternRewriter) -> Any:
        """Called before a pattern looks at an operation; what it returns is handed to `end`."""

    def end(self, pattern: str, begun: Any, rewriter: PatternRewriter, *, fired: bool) -> None:
        """Called after a pattern has looked at an operation, which it has `fired` on if it changed anything."""

    def counted(self, name: str, number: int) -> None:
        """Called where a pass counts something."""


_observers: list[Observer] = []
_replaced: list[tuple[type[RewritePattern], Apply]] = []
"""Classes of patterns that tell of their rewrites, with their own methods."""


def is_observed() -> bool:
    """Whether somebody looks: then a pass must not replay a rewrite without its pattern."""
    return bool(_observers)


def count(name: str, number: int) -> None:
    """Count what a pass did and no pattern did."""
    for observer in _observers if number else ():
        observer.counted(name, number)


@contextmanager
def observed(observer: Observer) -> Generator[None]:
    """Let an observer see the rewrites of all patterns that are named, or from outside npuc and xDSL."""
    _observers.append(observer)
    try:
        observe_new_patterns()
        yield
    finally:
        _observers.remove(observer)
        if not _observers:
            for kind, method in _replaced:
                setattr(kind, "match_and_rewrite", method)
            _replaced.clear()


@contextmanager
def unobserved() -> Generator[None]:
    """Let nobody see the rewrites of a program that is only tried."""
    watching, _observers[:] = list(_observers), []
    try:
        yield
    finally:
        _observers[:] = watching


def observe_new_patterns() -> None:
    """Let the classes of patterns that were imported since the last call tell of their rewrites, if somebody looks."""
    known = {kind for kind, _ in _replaced}
    for kind in _kinds(RewritePattern) if _observers else ():
        method = vars(kind).get("match_and_rewrite")
        if kind not in known and method is not None and _has_rewrites(kind):
            _replaced.append((kind, method))
            setattr(kind, "match_and_rewrite", _telling(method))


def _kinds(kind: type[RewritePattern]) -> Iterator[type[RewritePattern]]:
    for one in kind.__subclasses__():
        yield one
        yield from _kinds(one)


def _has_rewrites(kind: type[RewritePattern]) -> bool:
    """
    Whether a class is a rewrite, or has the method of some: named, or somebody's own; xDSL's, and what applies patterns
    in npuc, are not.
    """
    named = any(isinstance(getattr(one, "name", None), str) for one in (kind, *_kinds(kind)))
    return named or kind.__module__.partition(".")[0] not in ("npuc", "xdsl")


def name_of(pattern: RewritePattern) -> str:
    """The name of a pattern; that of its class, with dashes, where it has none."""
    name: object = getattr(pattern, "name", None)
    return name if isinstance(name, str) else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(pattern).__name__).lower()


_under_way: list[RewritePattern] = []


def _telling(method: Apply) -> Apply:
    @wraps(method)
    def match_and_rewrite(self: Any, op: Operation, rewriter: PatternRewriter) -> None:
        if any(one is self for one in _under_way):  # a method of a class that it derives from
            method(self, op, rewriter)
            return
        name, earlier, watching = name_of(self), rewriter.has_done_action, list(_observers)
        begun = [observer.begin(name, op, rewriter) for observer in watching]
        rewriter.has_done_action = False
        _under_way.append(self)
        try:
            method(self, op, rewriter)
        finally:
            _under_way.pop()
            for observer, one in zip(watching, begun, strict=True):
                observer.end(name, one, rewriter, fired=rewriter.has_done_action)
            rewriter.has_done_action |= earlier

    return match_and_rewrite
