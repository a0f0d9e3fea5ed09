"""
The search for a nest's schedule: loops, steps and what stays in SPM, from closed forms over arrays of candidates.

All candidates of `space.py` are priced at once and those that do not fit the SPM dropped. Traffic and energy are
exact, so the best by them is the best of the space. For time the price is an estimate: the larger of computation
and transfers, plus the first load and last store, plus the loads that the room for data on its way is too small to
hide. The best by it are timed by the exact pipeline, in the order of a lower bound of their time, until no other
can win.

On several cores a nest is cut along one dimension of a group, or along two, and the first part, the largest, is
searched as above on a core with its share of the DRAM channel. The cuts are tried in the order of what none of their
schedules can beat, until that is above the best found. All cores or fewer: a nest may also stay on one.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from sys import float_info

import numpy as np

from npuc.compiler.analysis.bounds import lower_bound_bytes
from npuc.compiler.analysis.compute import compute
from npuc.compiler.analysis.cores import core_count, parts, spread_traffic
from npuc.compiler.analysis.cuts import cut_floor, cuts_of
from npuc.compiler.analysis.holding import Option
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.pipeline import pipeline
from npuc.compiler.analysis.prices import Choice, Objective, Order, Prices, Way
from npuc.compiler.analysis.space import Grid
from npuc.compiler.errors import CapacityError, UsageError
from npuc.dialects.npu.footprint import footprint
from npuc.dialects.npu.nest import Loop, Nest, Schedule

OBJECTIVES: tuple[Objective, ...] = ("time", "traffic", "energy", "edp")
TIMED = 48
"""The candidates with the best estimates among which the exact pipeline chooses."""
TRIALS = 8
"""The most that are timed."""
EFFORT = 1500
"""The most tile operations on their way at a time, summed up over the candidates that are timed."""
SLACK = 1.02
"""Candidates whose bound is above the best estimate by more than this factor are not looked at."""
ALIKE = 1.0001
"""Times within this factor are taken for equal, and the one with less traffic wins."""
NEAR = 1.1
"""Coarse candidates within this factor of the least possible are taken; otherwise fine ones are tried as well."""
PROBED = 32
"""The most promising steps of an order, which are priced first for a limit to all others."""
MOST = float_info.max


@lru_cache(maxsize=4096)
def best_schedule(
    nest: Nest,
    machine: Machine,
    objective: Objective = "time",
    widths: tuple[int, ...] | None = None,
    order: tuple[str, ...] = (),
) -> Schedule:
    """
    The best schedule found for a nest on a machine; its `spm` is what the machine holds of the widest elements.

    `widths` are the bytes of an element of each tensor, in the order of `nest.tensors`; without them all have
    `machine.element_bytes`, or 4. With `order` only schedules count whose groups of dimensions come in the order of
    these dimensions, those without one of them inside, batch outside. Raises `CapacityError` when not even tiles of one
    element fit, `UsageError` when energy is asked for and the machine has none.
    """
    if objective in ("energy", "edp") and machine.energy is None:
        raise UsageError(
            f"the objective {objective} needs energy.mac_pj, energy.spm_pj_per_byte and energy.dram_pj_per_byte",
            hint="add them to the hardware description",
        )
    if widths is None:
        widths = (machine.element_bytes or 4,) * len(nest.tensors)
    return (_on_core if machine.cores == 1 else _over_cores)(nest, machine, objective, widths, order)


def _over_cores(
    nest: Nest, machine: Machine, objective: Objective, widths: tuple[int, ...], order: tuple[str, ...]
) -> Schedule:
    """The best schedule on a machine of several cores."""
    cuts = sorted(
        (
            (cut_floor(nest, cut, machine, objective, widths), number, cut)
            for number, cut in enumerate(cuts_of(nest, machine.cores))
        ),
        key=lambda entry: entry[:2],
    )
    best: tuple[float, float, Schedule] | None = None
    refusal: CapacityError | None = None
    for floor, _, cut in cuts:
        if best is not None and floor >= best[0]:
            break
        part = parts(nest, Schedule(cut))[0].nest
        try:
            inner = _on_core(part, machine.core(core_count(nest, Schedule(cut))), objective, widths, order)
        except CapacityError as e:
            refusal = refusal or e
            continue
        schedule = Schedule((*cut, *inner.loops), inner.keep, inner.spm)
        score, moved = price_of(nest, schedule, machine, objective, widths)
        if best is None or (score, moved) < best[:2]:
            best = score, moved, schedule
    if best is None:
        assert refusal is not None, "the nest on one core is among the cuts"
        raise refusal
    return best[2]


def price_of(
    nest: Nest, schedule: Schedule, machine: Machine, objective: Objective, widths: tuple[int, ...]
) -> tuple[float, float]:
    """What is minimised, exactly, and the bytes that a schedule moves."""
    timing = pipeline(nest, schedule, machine, widths)
    time, energy = float(timing.time), machine.energy
    if objective == "time":
        return time, timing.moved
    if objective == "traffic" or energy is None:
        return timing.moved, timing.moved
    width = dict(zip(nest.tensors, widths, strict=True))
    spread = spread_traffic(nest, schedule, machine.multicast, machine.reduction == "on-chip")
    spm = sum(width[name] * (t.read + t.write) for rows in spread.moved for name, t in rows.items())
    for part in parts(nest, schedule):
        accesses = compute(part.nest, part.schedule, machine.array).accesses
        spm += sum(width[name] * elements for name, elements in accesses.items())
    joules = energy.joules(nest.macs, spm, timing.moved)
    return (joules if objective == "energy" else time * joules), timing.moved


def _on_core(
    nest: Nest, machine: Machine, objective: Objective, widths: tuple[int, ...], order: tuple[str, ...]
) -> Schedule:
    """The best schedule on one core."""
    coarse = _search(nest, machine, objective, widths, order, fine=False)
    if coarse is not None and coarse.score <= NEAR * _floor(nest, machine, objective, widths):
        return coarse.schedule
    # Fine candidates only where they can beat the coarse ones.
    limit = MOST if coarse is None else coarse.score
    fine = _search(nest, machine, objective, widths, order, fine=True, limit=limit)
    found = [f for f in (coarse, fine) if f is not None]
    if found:
        return min(found, key=lambda f: (f.score, f.moved)).schedule
    finest = Schedule(tuple(Loop(dim, 1) for dim in nest.sizes))
    needed = sum(footprint(nest, finest).values()) * max(widths)
    raise CapacityError(
        f"the smallest tiles need {needed:,} bytes of SPM ({len(nest.tensors)} blocks of {max(widths)}-byte elements), "
        f"a schedule may use {machine.spm_bytes:,}"
    )


@dataclass(frozen=True)
class _Found:
    """A schedule with what is minimised, exactly, and its bytes."""

    schedule: Schedule
    score: float
    moved: float


def _search(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: tuple[int, ...],
    order: tuple[str, ...],
    *,
    fine: bool,
    limit: float = MOST,
) -> _Found | None:
    """The best schedule of the coarse or the fine candidates; None if none fits, or all cost more than `limit`."""
    prices = Prices(nest, machine, objective, widths, fine=fine)
    budget = machine.spm_bytes // max(widths)
    choices = _choices(prices, budget, order, limit)
    return _best(prices, choices, budget) if choices else None


def _floor(nest: Nest, machine: Machine, objective: Objective, widths: tuple[int, ...]) -> float:
    """What no schedule is below: 0 where no bound is known. Time: whole folds of the array, and the least traffic."""
    if objective not in ("time", "traffic"):
        return 0.0
    least = lower_bound_bytes(nest, machine.spm_bytes, widths)
    if objective == "traffic":
        return float(least)
    whole = compute(nest, Schedule(), machine.array).cycles
    return max(float(whole), float(least / machine.bytes_per_cycle))


def _choices(prices: Prices, budget: int, wanted: tuple[str, ...], limit: float) -> list[Choice]:
    """
    Every order with every way to hold the tensors, and the steps that fit in `budget` elements and may be the best.

    Of the most promising orders a few steps first, for a limit: candidates with a bound above it are left out.
    """
    count = len(prices.groups)
    tensors = len(prices.nest.ins) + len(prices.nest.outs)
    batch = 1 if count and all(0 in holder.used for holder in prices.holders[:tensors]) else 0
    orders: list[Order] = []
    ranks = [min((wanted.index(d) for d in g.dims if d in wanted), default=len(wanted)) for g in prices.groups]
    for inner in permutations(range(batch, count)):
        if [ranks[g] for g in inner] != sorted(ranks[batch:]):
            continue
        order = (*range(batch), *inner)
        options, ways = _ways(prices, order)
        found = prices.order(order, options, ways, budget)
        if len(found.at):
            orders.append(found)
    orders.sort(key=lambda order: float(order.least.min()))
    probed = [c for order in orders[:2] for c in prices.choices(order, limit, budget, most=PROBED)]
    if probed:
        first = min(probed, key=lambda choice: float(choice.score.min()))
        place = int(first.score.argmin())
        limit = min(limit, max(float(first.score[place]) * SLACK, _exact(prices, first, place, budget)))
    return [choice for order in orders for choice in prices.choices(order, limit, budget)]


def _exact(prices: Prices, choice: Choice, place: int, budget: int) -> float:
    """What a candidate costs, where estimates may be wrong."""
    if prices.objective not in ("time", "edp"):
        return 0.0
    schedule = prices.schedule(choice.order, int(choice.way[place]), int(choice.at[place]), budget)
    return price_of(prices.nest, schedule, prices.machine, prices.objective, prices.widths)[0]


def _ways(prices: Prices, order: tuple[int, ...]) -> tuple[list[tuple[Option, ...]], list[Way]]:
    """
    The ways to hold each tensor in an order, and every choice of them.

    Of more than two statements, tensors of the same kind and indices (W, W1, W2) are held alike: else the choices would
    be too many to look at.
    """
    nest = prices.nest
    options = [holder.options(order) for holder in prices.holders]
    if len(nest.statements) <= 2:
        return options, list(product(*(range(len(own)) for own in options)))
    kinds = [0] * len(nest.ins) + [1] * len(nest.outs) + [2] * (len(prices.holders) - len(nest.ins) - len(nest.outs))
    tensors = [nest.tensors[name] for name in prices.names]
    alike = list(zip(kinds, (t.axes for t in tensors), (t.shape for t in tensors), prices.widths, strict=True))
    number = {kind: n for n, kind in enumerate(dict.fromkeys(alike))}
    choices = product(*(range(len(options[alike.index(kind)])) for kind in number))
    return options, [tuple(chosen[number[kind]] for kind in alike) for chosen in choices]


def _best(prices: Prices, choices: list[Choice], budget: int) -> _Found:
    """The best of all choices: by score, then time, traffic, room, and their order."""
    score, time, bound = (np.concatenate([getattr(c, f) for c in choices]) for f in ("score", "time", "bound"))
    moved, room, at = (np.concatenate([getattr(c, f) for c in choices]) for f in ("moved", "room", "at"))
    starts = np.cumsum([0, *(len(c.at) for c in choices)])

    def schedule(number: int) -> Schedule:
        which = int(np.searchsorted(starts, number, side="right")) - 1
        choice, place = choices[which], number - starts[which]
        return prices.schedule(choice.order, int(choice.way[place]), int(at[number]), budget)

    few: Grid = np.arange(len(score))
    if len(score) > TIMED:
        few = np.flatnonzero(score <= np.partition(score, TIMED)[TIMED])
    ranked = few[np.lexsort((room[few], moved[few], time[few], score[few]))][:TIMED]
    first = int(ranked[0])
    if prices.objective not in ("time", "edp"):
        return _Found(schedule(first), float(score[first]), float(moved[first]))
    # By turns the best by the estimate, by the bound, and by traffic of those that cost as little: either of the first
    # two may be misled, and a cycle is not worth much traffic. Of those that all prices take for equal, one.
    cheap = ranked[score[ranked] <= score[first] * ALIKE]
    orders = (ranked, ranked[np.argsort(bound[ranked], kind="stable")], cheap[np.argsort(moved[cheap], kind="stable")])
    turns = [int(order[n]) for n in range(len(ranked)) for order in orders if n < len(order)]
    on_way = prices.tiles(at[ranked]) * np.minimum(1.0, prices.machine.spm_bytes / moved[ranked])
    pending = dict(zip(map(int, ranked), map(float, on_way), strict=True))
    quickest = min(turns, key=lambda number: pending[number])
    left = float(EFFORT)
    seen: set[tuple[float, float, float]] = set()
    timed: list[tuple[float, float, int, int]] = []
    for number in dict.fromkeys(turns):
        alike = (float(score[number]), float(bound[number]), float(moved[number]))
        least = min(timed)[0] if timed else MOST
        if timed and (len(timed) == TRIALS or alike in seen or bound[number] > least * ALIKE):
            continue
        if number != quickest and pending[number] > left:
            continue
        left -= pending[number]
        seen.add(alike)
        exact, _ = price_of(prices.nest, schedule(number), prices.machine, prices.objective, prices.widths)
        timed.append((exact, float(moved[number]), int(room[number]), number))
    least = min(timed)[0]
    exact, traffic, _, number = min((t for t in timed if t[0] <= least * ALIKE), key=lambda t: (t[1], t[2], t[0]))
    return _Found(schedule(number), exact, traffic)
