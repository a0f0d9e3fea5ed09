"""What the elements of a row-stationary array do in the first steps of a pass."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from npuc.backends.cycle.explain.filling import IDLE, OTHER, WAITS, WORKS
from npuc.compiler.analysis.machine.row_wave import PassWave

STEPS = 6
"""The steps of a pass that a window shows."""


@dataclass(frozen=True)
class Steps:
    """The first steps of the first of `count` passes on a row-stationary array."""

    name: str
    rows: int
    cols: int
    placed: str
    own: PassWave
    count: int
    each: str = "set"
    begin: int = 0

    @property
    def shown(self) -> int:
        """The steps in the window."""
        return self.own.steps if self.own.steps <= 2 * STEPS else STEPS

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return self.own.starts(self.shown)

    @property
    def end(self) -> int:
        """The cycle in which the steps are over, and of a whole pass the sums outside."""
        return self._starts[-1] + (self.own.after if self.shown == self.own.steps else 0)

    @property
    def heading(self) -> str:
        """The first step in words."""
        size, compute, cycles = self.rows * self.cols, self.own.compute, self.own.step_cycles(0)
        macs = self.own.macs // self.own.steps
        what = f"the first {self.shown:,} of {self.own.steps:,} steps" if self.shown < self.own.steps else "all steps"
        return (
            f"{what} of the first of {self.count:,} passes: one of {cycles:,} cycles computes in {compute:,}, and uses "
            f"{macs / (size * cycles):.1%} of the array's peak"
        )

    @property
    def text(self) -> str:
        """The sets of elements in words."""
        sets = self.own.sets
        return (
            f"{self.name}: {len(sets.filters) * len(sets.channels):,} sets of {sets.high:,} x {sets.strip:,} elements "
            f"are {sets.elements:,} of {self.rows:,} x {self.cols:,} ({self.placed}); filters and inputs take "
            f"{self.own.load:,} cycles to come, the last sums {self.own.after:,} to leave"
        )

    @property
    def moments(self) -> list[tuple[str, int]]:
        """Before the first step, in it, while it waits for the networks, and as the last sums leave."""
        starts, compute = self._starts, self.own.compute
        found = [("filters", 0)] if starts[0] else []
        found += [("compute", starts[0]), ("last of step", starts[0] + compute - 1)]
        found += [("wait", starts[0] + compute)] if starts[0] + compute < starts[1] else []
        found += [("sums", starts[-1])] if self.end > starts[-1] else [(f"step {self.shown}", starts[-2])]
        kept: dict[int, str] = {}
        for name, cycle in found:
            kept.setdefault(cycle, name)
        return [(name, cycle) for cycle, name in sorted(kept.items())]

    def state(self, row: int, col: int, cycle: int) -> int:
        """What an element does in a cycle; sets side by side are told apart."""
        place = self.own.sets.set_of(row, col)
        if place is None:
            return IDLE
        within = self._within(cycle)
        if within is None or within >= self.own.passes * self.own.sets.macs(*place):
            return WAITS
        return WORKS if sum(place) % 2 == 0 else OTHER

    def busy(self, cycle: int) -> tuple[int, int]:
        """How many elements work in a cycle."""
        within = self._within(cycle)
        return (0, 0) if within is None else self.own.busy(within)

    def _within(self, cycle: int) -> int | None:
        """The cycle of its step; None before the first and after the last one."""
        step = bisect_right(self._starts, cycle) - 1
        return cycle - self._starts[step] if 0 <= step < self.shown else None
