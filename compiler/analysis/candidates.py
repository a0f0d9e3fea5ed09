"""
The best of the candidates of `space.py`: they are all priced at once, and what does not fit the SPM is dropped.

Traffic and energy are exact, so the best by them is the best of the space. For time the price is an estimate: the
larger of computation and transfers, plus the first load and last store, plus the loads that the room for data on its
way is too small to hide. The best by it are timed by the exact pipeline, in the order of a lower bound of their time,
until no other can win.
"""

from dataclasses import dataclass
from itertools import permutations, product
from sys import float_info

import numpy as np

from npuc.compiler.analysis.holding import Option
from npuc.compiler.analysis.machine import Machine
from npuc.compiler.analysis.prices import Choice, Objective, Order, Prices, Way
from npuc.compiler.analysis.schedule_price import price_of
from npuc.compiler.analysis.space import Grid
from npuc.dialects.npu.nest import Nest, Schedule

TIMED = 48
"""The candidates with the best estimates among which the exact pipeline chooses."""
TRIALS = 24
"""The most that are timed."""
EFFORT = 1500
"""The most tile operations on their way at a time, summed up over the candidates that are timed."""
ALIKE = 1.0001
"""Times within this factor are taken for equal, and the one with less traffic wins."""
PROBED = 32
"""The most promising steps of an order, which are priced first for a limit to all others."""
MOST = float_info.max


@dataclass(frozen=True)
class Found:
    """A schedule with what is minimised, exactly, and its bytes."""

    schedule: Schedule
    score: float
    moved: float


def best_candidate(
    nest: Nest,
    machine: Machine,
    objective: Objective,
    widths: tuple[int, ...],
    order: tuple[str, ...],
    *,
    fine: bool,
    limit: float = MOST,
) -> Found | None:
    """The best schedule of the coarse or the fine candidates; None if none fits, or all cost more than `limit`."""
    prices = Prices(nest, machine, objective, widths, fine=fine)
    budget = machine.spm_bytes // max(widths)
    choices = _choices(prices, budget, order, limit)
    return _best(prices, choices, budget) if choices else None


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
        limit = min(limit, _exact(prices, first, place, budget) * ALIKE)
    return [choice for order in orders for choice in prices.choices(order, limit, budget)]


def _exact(prices: Prices, choice: Choice, place: int, budget: int) -> float:
    """What a candidate costs: of traffic and energy the price is no estimate."""
    if prices.objective not in ("time", "edp"):
        return float(choice.score[place])
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


def _best(prices: Prices, choices: list[Choice], budget: int) -> Found:
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
        return Found(schedule(first), float(score[first]), float(moved[first]))
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
    return Found(schedule(number), exact, traffic)
