"""Limits that keep every elaboration short: on statements executed and on nesting."""

from dataclasses import dataclass, field
from typing import NoReturn

from npuc.compiler.core.frozen import frozen
from npuc.compiler.core.options import MAX_OPS
from npuc.frontends.dsl.naming import Frame
from npuc.frontends.source_text import Diagnostics, Place, SourceText

STEPS_PER_OP = 25
MAX_NESTING = 100


class Abort(Exception):
    """Elaboration cannot go on; the reason is among the diagnostics."""


@frozen
class Loop:
    """A loop under way."""

    source: SourceText
    at: Place
    trips: int


def max_steps(max_ops: int) -> int:
    """The limit on steps: so high that a loop that builds operations meets the limit on operations first."""
    return STEPS_PER_OP * max(max_ops, MAX_OPS)


@dataclass
class Budget:
    """What elaboration has used so far; it may take `max_steps` steps."""

    diagnostics: Diagnostics
    max_steps: int
    loops: list[Loop] = field(default_factory=list[Loop])
    steps: int = 0
    nesting: int = 0

    def spend(self, frame: Frame, at: Place, steps: int = 1) -> None:
        """Count statements, iterations, expressions and list items; too many end the elaboration."""
        self.steps += steps
        if self.steps > self.max_steps:
            self.abort(frame, at, f"the program takes more than {self.max_steps:,} steps to build")

    def enter(self, frame: Frame, at: Place) -> None:
        """Go one level deeper into expressions, statements or blocks; a located error if that is too deep."""
        if self.nesting >= MAX_NESTING:
            raise frame.source.error(at, f"expressions, statements and blocks are nested more than {MAX_NESTING} deep")
        self.steps += 1
        if self.steps > self.max_steps:
            self.spend(frame, at, 0)
        self.nesting += 1

    def abort(self, frame: Frame, at: Place, message: str) -> NoReturn:
        """End the elaboration; the place reported is the program's longest loop under way, or `at` outside of loops."""
        source, at = frame.blamed(at)
        if self.loops:
            loop = max(self.loops, key=lambda one: one.trips)
            source, at = loop.source, loop.at
            message = f"{message} (this loop has {loop.trips:,} iterations)"
        self.diagnostics.add(source.error(at, message, "--max-ops raises the limit"))
        raise Abort
