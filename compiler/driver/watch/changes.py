"""What `--print-changed` shows: the program after each pass that changed it, whole or as a difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import unified_diff

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.driver.watch.watcher import Watcher, ir_text


@dataclass
class Changes(Watcher):
    """Shows what passes change: whole programs, or with `lines` the lines that differ. Others are named in a line."""

    say: Callable[[str], None]
    lines: bool
    shown: str = field(default="", init=False)

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """Keep the text of the program."""
        self.shown = ir_text(module)

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """Show the program, if it is another one."""
        old, self.shown = self.shown, ir_text(module)
        if old == self.shown:
            self.say(f"// after {step}: no change")
        elif self.lines:
            difference = unified_diff(old.splitlines(), self.shown.splitlines(), "before", "after", lineterm="", n=1)
            self.say(f"// after {step}:\n" + "\n".join(difference))
        else:
            self.say(f"// after {step}:\n{self.shown}")
