"""The areas of the machines of a grid's points, from those of their parts, each of which depends on few keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod

import numpy as np

from npuc.compiler.explore.optimize.machine_facts import DENSE, GridMachines, MachineFact, codes_of
from npuc.compiler.explore.pareto.front import Floats, Ints
from npuc.hardware import Hardware
from npuc.hardware.area import MODEL, PARTS, chip_area
from npuc.hardware.level_keys import LEVELS
from npuc.hardware.levels import levels_of

CHIP = "area.chip_mm2"
MANY = 16
"""From so many combinations for each point on they have no place each."""


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
            found[summed] = self._sums(numbers[summed])
        return found

    def _sums(self, numbers: Ints) -> Floats:
        """The same where they are sums of parts, each of which is added up once."""
        tables = {fact: fact.table(numbers) for fact in self._parts}
        tables = {fact: one for fact, one in tables.items() if not np.isnan(one[0][one[1]]).all()}
        axes = sorted({axis for fact in tables for axis in fact.axes})
        codes = codes_of(self._machines.space, axes, numbers)
        size = prod(self._machines.space.sizes[axis] for axis in axes)
        if size > min(DENSE, MANY * len(codes)):
            _, first, back = np.unique(codes, return_index=True, return_inverse=True)
        else:
            one_of = np.full(size, -1, np.int64)
            one_of[codes] = np.arange(len(codes))
            first = one_of[one_of >= 0]
            place = np.cumsum(one_of >= 0) - 1
            back = place[codes]
        if not tables:
            return np.full(len(numbers), np.nan)
        parts = np.array([values[own[first]] for values, own in tables.values()])
        return np.array([_sum(column) for column in parts.T.tolist()])[back]

    def size(self, numbers: Ints) -> int:
        """The most combinations of values on which a fact depends that is evaluated here."""
        facts = [self._summed, *self._parts] if (self._summed.of(numbers[:1]) == 1.0).all() else [self._chip]
        for fact in facts:
            fact.of(numbers[:1])
        return max(fact.size for fact in facts)


def _is_summed(machine: Hardware) -> float:
    """1 where the chip of a machine is the sum of its parts."""
    return float((machine.get(MODEL, str) or "npuc") == "npuc" and machine.get(CHIP, float) is None)


def _further(machine: Hardware) -> float | None:
    """The area of memories on the chip beside the scratchpads."""
    if not machine.written(LEVELS):
        return None
    if all(one.part in ("scratchpad", "dram") for one in levels_of(Hardware(machine.values))):
        return None  # which memories a written list has follows from the list alone: nothing else counts as read
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
