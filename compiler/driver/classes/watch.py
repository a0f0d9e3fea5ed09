"""A program as it was lowered before the first pass that looks at its machine, and before the one that schedules it."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from npuc.compiler.driver.levels.preset import SCHEDULE
from npuc.compiler.driver.watch.watcher import Watcher
from npuc.dialects.copies import copied

INTERLEAVE, REARRANGE = "interleave", "rearrange"


class BeforeSchedules(Watcher):
    """
    Keeps copies of a program while its passes run: `lowered` before those that choose how products run, `arranged`
    before `schedule`. `passes` are the names of these passes with what comes behind, `steps` themselves. `reads` are
    the keys of the machine that were read until then.
    """

    def __init__(self, reads: set[str]):
        self._reads = reads
        self.lowered: ModuleOp | None = None
        self.arranged: ModuleOp | None = None
        self.steps: list[ModulePass] = []
        self.reads = frozenset[str]()

    @property
    def passes(self) -> list[str]:
        """The names of the passes that ran on the lowered program."""
        return [step.name for step in self.steps]

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """See `Watcher`."""
        if self.lowered is None and step.name in (INTERLEAVE, REARRANGE, SCHEDULE):
            self.lowered, self.reads = copied(module), frozenset(self._reads)
        if self.lowered is None:
            return
        if step.name == SCHEDULE:
            self.arranged = copied(module)
        self.steps.append(step)
