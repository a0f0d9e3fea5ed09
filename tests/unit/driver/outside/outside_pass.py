"""Passes of somebody else: one that marks the module, and one that fails."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class OutsidePass(ModulePass):
    """Write a word on the module."""

    name = "outside-pass"

    word: str = "seen"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Write it."""
        op.attributes["outside.word"] = StringAttr(self.word)


@dataclass(frozen=True)
class FailingPass(ModulePass):
    """Fail."""

    name = "failing-pass"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Divide by zero."""
        raise ZeroDivisionError(f"{op.name} divided by zero")


PASSES = {"failing-pass": FailingPass}
