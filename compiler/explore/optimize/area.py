"""The areas of the machines of a grid's points, from those of their parts, each of which depends on few keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod

import numpy as np

from npuc.compiler.explore.optimize.machine_facts import GridMachines, MachineFact
from npuc.compiler.explore.pareto.front import Floats, Ints
from npuc.hardware import Hardware
from npuc.hardware.area import MODEL, PARTS, chip_area
from npuc.hardware.level_keys import LEVELS
from npuc.hardware.levels import levels_of

CHIP = "area.chip_mm2"


class Areas:
    """
    mm2 of the chip of each machine, as `chip_area` says it; NaN where nothing is said.

    Where a machine writes no area and names no published formula, its chip is the sum of its parts, so that not every
    combination of keys is a fact of its own.
    """

    def __init__(self, machines: GridMachines):
        self._machines = machines
        self._summed = MachineFact(machines, _is_summed)
        self._parts = [MachineFact(machines, reading) for reading in (*map(_part, PARTS), _further)]
        self._chip = MachineFact(machines, _whole)

    def of(self, numbers: Ints) -> Floats:
        """The area of each of some points' machines."""
        summed = self._summed.of(numbers) == 1.0
        found = np.full(len(numbers), np.nan)
        if not summed.all():
            found[~summed] = self._chip.of(numbers[~summed])
        if summed.any():
            parts = np.array([fact.of(numbers[summed]) for fact in self._parts])
            distinct, back = np.unique(parts, axis=1, return_inverse=True, equal_nan=False)
            totals = np.array([_sum(column.tolist()) for column in distinct.T])
            found[summed] = totals[back]
        return found

    def size(self, numbers: Ints) -> int:
        """The most combinations of values on which a fact depends that is evaluated here."""
        first = numbers[:1]
        self._summed.of(first)
        facts = [self._summed, *self._parts]
        for fact in facts:
            fact.of(first)
        sizes = self._machines.space.sizes
        return max((prod(sizes[axis] for axis in fact.axes) for fact in facts), default=1)


def _is_summed(machine: Hardware) -> float:
    """1 where the chip of a machine is the sum of its parts."""
    return float((machine.get(MODEL, str) or "npuc") == "npuc" and machine.get(CHIP, float) is None)


def _further(machine: Hardware) -> float | None:
    """The area of memories on the chip beside the scratchpads."""
    if not machine.written(LEVELS):
        return None
    levels = [one for one in levels_of(machine) if one.part not in ("scratchpad", "dram")]
    known = [one.area_mm2 for one in levels if one.area_mm2 is not None]
    return math.fsum(known) if known else None


def _whole(machine: Hardware) -> float | None:
    """The area of a chip; `chip_area` looks at its memories without reading the machine, and this does."""
    if machine.written(LEVELS):
        levels_of(machine)
    return chip_area(machine).chip


def _part(name: str) -> Callable[[Hardware], float | None]:
    return lambda machine: machine.known(f"area.{name}_mm2", float)


def _sum(parts: list[float]) -> float:
    """The area of parts, as `chip_area` adds them up."""
    known = [size for size in parts if not math.isnan(size)]
    return math.fsum(known) if any(known) else math.nan
