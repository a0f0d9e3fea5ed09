"""Observers of a program before and after each pass."""

from __future__ import annotations

import io
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer


class Watcher:
    """Is called around each pass of a pipeline; it changes nothing."""

    def plan(self, passes: list[ModulePass]) -> None:
        """Called with the passes that are to run, before the first one."""

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """Called before `step` runs."""

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """Called after `step` has run."""

    def finish(self) -> None:
        """Called when no more passes run."""


class Watchers(Watcher):
    """Several, one after the other; the last one asked before a pass is the first one after it."""

    def __init__(self, each: Sequence[Watcher]):
        self.each = tuple(each)

    def plan(self, passes: list[ModulePass]) -> None:
        """See `Watcher`."""
        for watcher in self.each:
            watcher.plan(passes)

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """See `Watcher`."""
        for watcher in self.each:
            watcher.before(step, module)

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """See `Watcher`."""
        for watcher in reversed(self.each):
            watcher.after(step, module)

    def finish(self) -> None:
        """See `Watcher`."""
        for watcher in self.each:
            watcher.finish()


def ir_text(module: ModuleOp) -> str:
    """A program as it is printed."""
    text = io.StringIO()
    Printer(text).print_op(module)
    return text.getvalue()
