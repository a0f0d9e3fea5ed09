"""
What `--statistics` shows: the operations before and after each pass, how many it made and erased, which patterns fired.

    // pass          operations  made  erased  rewrites
    // canonicalize  16 -> 13       0       3  repeated 2, undone 1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from npuc.compiler.driver.watch.watcher import Watcher
from npuc.compiler.transforms.rewrites import Observer, observe_new_patterns

SCHEMA = "npuc.statistics/1"


@dataclass(frozen=True)
class PassStatistics:
    """
    What a pass did: the operations before and after it, how many of them it made and erased, how often each pattern
    fired, and what else it counts.
    """

    step: str
    before: int
    after: int
    made: int
    erased: int
    patterns: Mapping[str, int]
    counters: Mapping[str, int]


@dataclass
class Statistics(Watcher, Observer):
    """Counts what passes do; nested passes, and rewrites of candidates that a search tries, count for the outer one."""

    done: list[PassStatistics] = field(default_factory=list[PassStatistics])
    patterns: Counter[str] = field(default_factory=Counter[str], init=False)
    counters: Counter[str] = field(default_factory=Counter[str], init=False)
    there: list[Operation] = field(default_factory=list[Operation], init=False)

    def before(self, step: ModulePass, module: ModuleOp) -> None:
        """Begin to count."""
        observe_new_patterns()
        self.there = _operations(module)
        self.patterns, self.counters = Counter(), Counter()

    def end(self, pattern: str, begun: object, rewriter: PatternRewriter, *, fired: bool) -> None:
        """Count a rewrite."""
        self.patterns[pattern] += fired

    def counted(self, name: str, number: int) -> None:
        """Count what a pass counts."""
        self.counters[name] += number

    def after(self, step: ModulePass, module: ModuleOp) -> None:
        """Take the counts of a pass."""
        now = _operations(module)
        kept = len({id(op) for op in now} & {id(op) for op in self.there})  # `there` keeps each of them alive
        self.done.append(
            PassStatistics(
                str(step),
                len(self.there),
                len(now),
                len(now) - kept,
                len(self.there) - kept,
                {name: number for name, number in sorted(self.patterns.items()) if number},
                dict(sorted(self.counters.items())),
            )
        )
        self.there = []

    def text(self) -> str:
        """All passes as a table, a line each."""
        head = ("pass", "operations", "made", "erased", "rewrites")
        lines = [head, *(_cells(one) for one in self.done)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
        right = (False, True, True, True, False)
        shown = (
            "  ".join(
                f"{cell:{'>' if side else '<'}{width}}" for cell, side, width in zip(line, right, widths, strict=True)
            )
            for line in lines
        )
        return "\n".join(f"// {line}".rstrip() for line in shown)

    def to_json(self) -> str:
        """All passes as JSON, schema `npuc.statistics/1`."""
        passes = [
            {
                "pass": one.step,
                "operations": {"before": one.before, "after": one.after, "made": one.made, "erased": one.erased},
                "patterns": one.patterns,
                "counters": one.counters,
            }
            for one in self.done
        ]
        return msgspec.json.format(msgspec.json.encode({"schema": SCHEMA, "passes": passes})).decode() + "\n"


def _operations(module: ModuleOp) -> list[Operation]:
    """The operations of a module, without itself."""
    return list(module.walk())[1:]


def _cells(one: PassStatistics) -> Sequence[str]:
    count = f"{one.before:,}" if one.before == one.after else f"{one.before:,} -> {one.after:,}"
    rewrites = ", ".join(f"{name} {number:,}" for name, number in {**one.patterns, **one.counters}.items())
    return one.step, count, f"{one.made:,}", f"{one.erased:,}", rewrites
