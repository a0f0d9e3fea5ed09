"""
The search for a nest's schedule: loops, steps and what stays in SPM, from closed forms over arrays of candidates.

All candidates of `space.py` are priced at once and those that do not fit the SPM dropped. Traffic and energy are
exact, so the best by them is the best of the space. For time the price is an estimate: the larger of computation
and transfers, plus the first load and last store, plus the loads that the room for data on its way is too small to
hide. The best by it are timed by the exact pipeline, in the order of a lower bound of their time, until no other
can win.
"""

from functools import lru_cache
from itertools import permutations, product
from sys import float_info

import numpy as np

from npuc.compiler.analysis.compute import compute
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.pipeline import pipeline
from npuc.compiler.analysis.prices import Choice, Objective, Plan, Prices
from npuc.compiler.analysis.space import Grid
from npuc.compiler.errors import CapacityError, UsageError
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Loop, Nest, Schedule

OBJECTIVES: tuple[Objective, ...] = ("time", "traffic", "energy", "edp")
TIMED = 48
"""The candidates with the best estimates among which the exact pipeline chooses."""
TRIALS = 8
"""The most that are timed."""
SLACK = 1.02
"""Candidates whose bound is above the best estimate by more than this factor are not looked at."""
MOST = float_info.max


@lru_cache(maxsize=4096)
def best_schedule(
    nest: Nest, machine: Machine, objective: Objective = "time", widths: tuple[int, ...] | None = None
) -> Schedule:
    """
    The best schedule found for a nest on a machine; its `spm` is what the machine holds of the widest elements.

    `widths` are the bytes of an element of each tensor, in the order of `nest.tensors`; without them all have
    `machine.element_bytes`, or 4. Raises `CapacityError` when not even tiles of one element fit, `UsageError` when
    energy is asked for and the machine has none.
    """
    if objective in ("energy", "edp") and machine.energy is None:
        raise UsageError(
            f"the objective {objective} needs energy.mac_pj, energy.spm_pj_per_byte and energy.dram_pj_per_byte",
            hint="add them to the hardware description",
        )
    if widths is None:
        widths = (machine.element_bytes or 4,) * len(nest.tensors)
    budget = machine.spm_bytes // max(widths)
    for fine in (False, True):
        prices = Prices(nest, machine, objective, widths, fine=fine)
        choices = _choices(prices, budget)
        if choices:
            return _best(prices, choices, budget)
    finest = Schedule(tuple(Loop(dim, 1) for dim in nest.sizes))
    needed = sum(footprint(nest, finest).values()) * max(widths)
    raise CapacityError(
        f"the smallest tiles need {needed:,} bytes of SPM ({len(nest.tensors)} blocks of {max(widths)}-byte elements), "
        f"a schedule may use {machine.spm_bytes:,}"
    )


def _choices(prices: Prices, budget: int) -> list[Choice]:
    """
    Every order with every way to hold the tensors, and the steps that fit in `budget` elements and may be the best.

    The most promising first; later ones only with steps whose bound is not well above the best score so far.
    """
    count = len(prices.groups)
    batch = 1 if count and all(0 in holder.used for holder in prices.holders[: len(prices.nest.ins) + 1]) else 0
    plans: list[Plan] = []
    for inner in permutations(range(batch, count)):
        order = (*range(batch), *inner)
        for held in product(*(list(holder.options(order)) for holder in prices.holders)):
            plan = prices.plan(order, held, budget)
            if plan is not None:
                plans.append(plan)
    choices: list[Choice] = []
    limit = MOST
    for plan in sorted(plans, key=lambda plan: plan.least):
        if plan.least > limit:
            break
        choice = prices.of(plan, limit)
        limit = min(limit, float(choice.score.min()) * SLACK)
        choices.append(choice)
    return choices


def _best(prices: Prices, choices: list[Choice], budget: int) -> Schedule:
    """The best of all choices: by score, then time, traffic, room, and their order."""
    score, time, bound = (np.concatenate([getattr(c, f) for c in choices]) for f in ("score", "time", "bound"))
    moved, room = (np.concatenate([getattr(c, f) for c in choices]) for f in ("moved", "room"))
    starts = np.cumsum([0, *(len(c.at) for c in choices)])

    def schedule(number: int) -> Schedule:
        which = int(np.searchsorted(starts, number, side="right")) - 1
        return prices.schedule(choices[which].plan, int(choices[which].at[number - starts[which]]), budget)

    few: Grid = np.arange(len(score))
    if len(score) > TIMED:
        few = np.flatnonzero(score <= np.partition(score, TIMED)[TIMED])
    ranked = few[np.lexsort((room[few], moved[few], time[few], score[few]))][:TIMED]
    if prices.objective not in ("time", "edp"):
        return schedule(int(ranked[0]))
    best: tuple[float, float, int, int] | None = None
    result = schedule(int(ranked[0]))
    trials = 0
    # By turns the best by the estimate and the best by the bound, since either may be misled; of those that all prices
    # take for equal, one.
    turns = np.stack([ranked, ranked[np.argsort(bound[ranked], kind="stable")]], axis=1).ravel()
    seen: set[tuple[float, float, float]] = set()
    for rank, number in enumerate(dict.fromkeys(turns.tolist())):
        alike = (float(score[number]), float(bound[number]), float(moved[number]))
        if best is not None and (trials == TRIALS or alike in seen or bound[number] > best[0] * (1 + 1e-12)):
            continue
        seen.add(alike)
        trials += 1
        candidate = schedule(int(number))
        price = (_exact(prices, candidate, int(moved[number])), float(moved[number]), int(room[number]), rank)
        if best is None or price < best:
            best, result = price, candidate
    return result


def _exact(prices: Prices, schedule: Schedule, moved: int) -> float:
    """The time of a schedule by the pipeline; for the objective edp, times its energy."""
    machine = prices.machine
    time = float(pipeline(prices.nest, schedule, machine, prices.widths).time)
    if prices.objective == "time" or machine.energy is None:
        return time
    widths = dict(zip(prices.nest.tensors, prices.widths, strict=True))
    accesses = compute(prices.nest, schedule, machine.array).accesses
    spm = sum(widths[name] * elements for name, elements in accesses.items())
    return time * machine.energy.joules(prices.nest.macs, spm + moved, moved)
