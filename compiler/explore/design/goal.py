"""What a search for machines minimises, and what of a design a budget of power allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.explore.design.combine import Design

GoalName = Literal["time", "energy", "edp"]
GOALS: tuple[GoalName, ...] = ("time", "energy", "edp")
PRICES = tuple(4.0**n for n in range(-4, 5))
"""Prices of energy that are tried, relative to that at which a step's energy costs as much as its cycles."""


@dataclass(frozen=True)
class Goal:
    """
    The least time, energy, or product of both, of a whole step.

    `power_w` limits the average power; `joules` is the energy of a MAC's worth, `hertz` the clock. None: not known.
    """

    name: GoalName
    power_w: float | None = None
    joules: float | None = None
    hertz: float | None = None

    @property
    def buffered(self) -> bool:
        """Whether energy counts, so that elements must keep what they refetch."""
        return self.name != "time" or self.power_w is not None

    def scores(self, cycles: Floats, energy: Floats) -> Floats:
        """What parents are chosen by."""
        return {"time": cycles, "energy": energy}.get(self.name, cycles * energy)

    def prices(self, best: Design | None) -> Sequence[float]:
        """Prices of energy in cycles, among which the best choice of mappings is looked for."""
        if self.power_w is None and self.name != "edp":
            return (0.0,) if self.name == "time" else (inf,)
        if best is None:
            return (0.0, inf)
        return (0.0, *(one * best.cycles / best.energy for one in PRICES), inf)

    def watts(self, design: Design) -> float | None:
        """The average power of a step."""
        if self.joules is None or self.hertz is None:
            return None
        return design.energy * self.joules * self.hertz / design.cycles

    def allows(self, design: Design) -> bool:
        """Whether the power is within its limit."""
        watts = self.watts(design)
        return self.power_w is None or (watts is not None and watts <= self.power_w)

    def key(self, design: Design) -> tuple[float, float, float]:
        """What is minimised, then the other measure, then the area."""
        first = {"time": design.cycles, "energy": design.energy}.get(self.name, design.cycles * design.energy)
        return first, design.cycles if self.name == "energy" else design.energy, design.area_mm2
