"""
Products of one stage on the units of a machine: those that single units have side by side, then those that are shared.

    plan = stage_plan(machine, products, mode="assign", goal="time")
    plan.splits                  # of each product, in their order
    stage_times(machine, plan.splits).added

A unit does its products in their order. Longest first, each goes to the unit that ends earliest with it; beside that
are looked at all products on one unit, and each on the unit that is best for it alone, so that no plan is worse than
the best unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from npuc.compiler.analysis.hetero.product import SparseProduct
from npuc.compiler.analysis.hetero.queue import ends_side_by_side
from npuc.compiler.analysis.hetero.tiles import TILES, Goal, TileSplit, best_split, single_splits
from npuc.compiler.analysis.hetero.unit import SparseUnit, UnitMachine

Mode = Literal["split", "assign", "best"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True)
class StagePlan:
    """The split of each product of a stage, in their order, with the time and energy of all."""

    splits: tuple[TileSplit, ...]
    seconds: float
    joules: float

    def rank(self, goal: Goal) -> tuple[float, float]:
        """What is least of the best plan: what the goal names, and then energy, or time."""
        first = {"time": self.seconds, "energy": self.joules, "edp": self.seconds * self.joules}[goal]
        return first, self.seconds if goal == "energy" else self.joules


@dataclass(frozen=True)
class StageTimes:
    """When each product of a stage ends, in their order, and what it adds to the end of those that end before it."""

    ends: tuple[float, ...]
    added: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """When the stage ends."""
        return max(self.ends)


def stage_times(machine: UnitMachine, splits: Sequence[TileSplit]) -> StageTimes:
    """The ends of the products of a stage: of those that a unit has alone side by side, then of the others in order."""
    queues: dict[SparseUnit, list[int]] = {}
    for number, split in enumerate(splits):
        if split.axis is None:
            queues.setdefault(split.shares[0].unit, []).append(number)
    ends = [0.0] * len(splits)
    found = ends_side_by_side(machine, [[splits[one].shares[0] for one in queue] for queue in queues.values()])
    for queue, own in zip(queues.values(), found, strict=True):
        for number, end in zip(queue, own, strict=True):
            ends[number] = end
    now = max(ends)
    for number, split in enumerate(splits):
        if split.axis is not None:
            now = ends[number] = now + split.seconds
    added, before = [0.0] * len(splits), 0.0
    for number in sorted(range(len(splits)), key=lambda one: (ends[one], one)):
        added[number], before = ends[number] - before, ends[number]
    return StageTimes(tuple(ends), tuple(added))


def plan_of(machine: UnitMachine, splits: Sequence[TileSplit]) -> StagePlan:
    """The plan that splits of the products of a stage are."""
    seconds = stage_times(machine, splits).seconds
    joules = sum(share.joules for split in splits for share in split.shares) + machine.idle_w * seconds
    return StagePlan(tuple(splits), seconds, joules)


def stage_plan(
    machine: UnitMachine, products: Sequence[SparseProduct], mode: Mode, goal: Goal = "time", tiles: int = TILES
) -> StagePlan:
    """
    The plan of a stage: each product split (`split`), on one unit (`assign`), or the best of both and of mixtures in
    which the longest are on one unit each and the others are split (`best`).

    Raises `UsageError` for a product that no unit takes.
    """
    shared = [] if mode == "assign" else [best_split(machine, one, tiles=tiles, goal=goal) for one in products]
    if mode == "split":
        return plan_of(machine, shared)
    single = [tuple(single_splits(machine, one)) for one in products]
    ways = list(_whole(machine, single, goal))
    if mode == "best":
        order = _longest_first(single)
        for count in range(len(products)):
            greedy = _greedy(machine, [single[one] for one in sorted(order[:count])])
            whole = dict(zip(sorted(order[:count]), greedy, strict=True))
            ways.append([whole.get(one, shared[one]) for one in range(len(products))])
    return min((plan_of(machine, way) for way in ways), key=lambda plan: plan.rank(goal))


def _whole(machine: UnitMachine, single: Sequence[tuple[TileSplit, ...]], goal: Goal) -> Iterator[list[TileSplit]]:
    """Ways to give whole products to units, of each product the choices."""
    yield _greedy(machine, single)
    yield [min(own, key=lambda split: split.rank(goal)) for own in single]
    for unit in machine.units:
        found = [split for own in single for split in own if split.shares[0].unit == unit]
        if len(found) == len(single):
            yield found


def _longest_first(single: Sequence[tuple[TileSplit, ...]]) -> list[int]:
    return sorted(range(len(single)), key=lambda one: -min(split.seconds for split in single[one]))


def _greedy(machine: UnitMachine, single: Sequence[tuple[TileSplit, ...]]) -> list[TileSplit]:
    """Each product to the unit that ends earliest with it, the longest first."""
    ends = dict.fromkeys(machine.units, 0.0)
    found: dict[int, TileSplit] = {}
    for number in _longest_first(single):
        best = min(single[number], key=lambda split: ends[split.shares[0].unit] + split.seconds)
        ends[best.shares[0].unit] += best.seconds
        found[number] = best
    return [found[number] for number in range(len(single))]
