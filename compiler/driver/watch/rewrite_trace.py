"""
What `--debug-only PASS[,PATTERN]` shows: each rewrite of a pass, with its pattern, the place of the operation, and what
stands there before and after.

    // canonicalize: repeated at net.dsl:5:7, layer h
    //   %h = train.relu %0 {layer = "h"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    //     --> %0
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.printer import Printer

from npuc.compiler.core.errors import UsageError, did_you_mean
from npuc.compiler.core.verify import location_of
from npuc.compiler.driver.watch.watcher import Watcher
from npuc.compiler.transforms.rewrites import Observer, observe_new_patterns
from npuc.dialects.provenance import layer_of


class _NamePrinter(Printer):
    """Prints single operations with the names that values have in the program before the pass."""

    def __init__(self, stream: io.StringIO, names: dict[SSAValue, str]):
        super().__init__(stream)
        self.names = names

    def print_ssa_value(self, value: SSAValue) -> str:
        """Print the known name of a value, else its hint or a number that the program does not have."""
        if value not in self.names:
            self.names[value] = value.name_hint or f"new{sum(n.startswith('new') for n in self.names.values())}"
        self.print_string(f"%{self.names[value]}")
        return self.names[value]


class _NameKeeper(Printer):
    """Keeps the name of each value that it prints."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.names: dict[SSAValue, str] = {}

    def print_ssa_value(self, value: SSAValue) -> str:
        """See `Printer`."""
        self.names[value] = super().print_ssa_value(value)
        return self.names[value]


@dataclass
class _Rewrite:
    """A rewrite under way: the operation, how it was, and what is put in, changed, or taken for its results."""

    op: Operation
    place: str
    text: str
    new: list[Operation] = field(default_factory=list[Operation])
    changed: list[Operation] = field(default_factory=list[Operation])
    values: list[SSAValue] = field(default_factory=list[SSAValue])

    def replace(self, op: Operation, results: Sequence[SSAValue | None]) -> None:
        """Values take the place of the results of an operation."""
        if op is self.op:
            self.values += [value for value in results if value is not None]

    def listeners(self, to: PatternRewriter) -> Sequence[tuple[list[Any], Any]]:
        """The lists of listeners of a rewriter, each with what this rewrite hears by it."""
        return (
            (to.operation_insertion_handler, self.new.append),
            (to.operation_modification_handler, self.changed.append),
            (to.operation_replacement_handler, self.replace),
        )

    @property
    def after(self) -> list[Operation]:
        """The operations that stand there afterwards; readers of a replaced value have only changed in that."""
        there = self.op.parent is not None
        both = [*self.changed, *self.new] if there else self.new
        return [op for op in dict.fromkeys(both) if op.parent is not None]


@dataclass
class RewriteTrace(Watcher, Observer):
    """Tells of each rewrite of a pass, of all its patterns or of one."""

    wanted: str
    say: Callable[[str], None]
    fired: set[str] = field(default_factory=set[str], init=False)
    names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str], init=False)
    running: str | None = field(default=None, init=False)

    @property
    def step(self) -> str:
        """The pass that is asked for."""
        return self.wanted.partition(",")[0].strip()

    @property
    def pattern(self) -> str | None:
        """The pattern that is asked for; None for all."""
        return self.wanted.partition(",")[2].strip() or None

    def plan(self, passes: list[ModulePass]) -> None:
        """Raise `UsageError` for a pass that does not run, and for a pattern that a pass of npuc does not have."""
        from npuc.compiler.transforms import get_all_passes, get_all_patterns

        names = [step.name for step in passes]
        if self.step not in names:
            raise UsageError(
                f"--debug-only {self.wanted}: the pass '{self.step}' does not run",
                hint=did_you_mean(self.step, list(dict.fromkeys(names))),
            )
        known = [kind.name for kind in get_all_patterns().get(self.step, ())]
        if self.pattern is not None and self.step in get_all_passes() and self.pattern not in known:
            raise UsageError(
                f"--debug-only {self.wanted}: the pass '{self.step}' has no pattern '{self.pattern}'",
                hint=did_you_mean(self.pattern, known),
            )

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """Take the names of the program's values, if this pass is asked for."""
        observe_new_patterns()
        if step.name == self.step:
            keeper = _NameKeeper()
            keeper.print_op(module)
            self.names, self.running = keeper.names, step.name

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """Say so where no pattern did anything."""
        if step.name == self.step:
            if not self.fired:
                self.say(f"// {step.name}: no rewrite" + (f" of {self.pattern}" if self.pattern else ""))
            self.names, self.running = {}, None
            self.fired.clear()

    def begin(self, pattern: str, op: Operation, rewriter: PatternRewriter) -> _Rewrite | None:
        """Take an operation as it is, since it may be gone afterwards."""
        if self.running is None or self.pattern not in (None, pattern):
            return None
        location, layer = location_of(op), layer_of(op)
        parts = [str(location) if location is not None else "", f"layer {layer}" if layer else ""]
        place = ", ".join(part for part in parts if part)
        begun = _Rewrite(op, f" at {place}" if place else "", self._line(op))
        for listeners, hears in begun.listeners(rewriter):
            listeners.append(hears)
        return begun

    def end(self, pattern: str, begun: _Rewrite | None, rewriter: PatternRewriter, *, fired: bool) -> None:
        """Tell of a rewrite that took place."""
        if begun is None:
            return
        for listeners, _ in begun.listeners(rewriter):
            listeners.pop()
        if not fired:
            return
        self.fired.add(pattern)
        after = [self._line(op) for op in begun.after]
        after = after or ([", ".join(map(self._name, begun.values))] if begun.values else ["(erased)"])
        shown = "\n//         ".join(line.replace("\n", "\n//     ") for line in after)
        text = begun.text.replace("\n", "\n//   ")
        self.say(f"// {self.running}: {pattern}{begun.place}\n//   {text}\n//     --> {shown}")

    def _line(self, op: Operation) -> str:
        stream = io.StringIO()
        _NamePrinter(stream, self.names).print_op(op)
        return stream.getvalue()

    def _name(self, value: SSAValue) -> str:
        _NamePrinter(stream := io.StringIO(), self.names).print_ssa_value(value)
        return stream.getvalue()
