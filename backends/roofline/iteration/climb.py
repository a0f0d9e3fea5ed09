"""
The plan of a ladder that a machine takes (`best.py`), for many machines at once, with as few timelines as that needs.

A rung's own plan is taken where it moves no more bytes and takes no more time than the plan of the rung below. Whatever
is taken below, that is so of a plan that moves no more bytes than any lower one and takes no more time than a lower
bound of all of theirs: the climb begins at the highest rung with such a plan. From there on a plan whose bytes or lower
bound are above those of the plan taken there is never taken, and needs no timeline.

The lower bound of a plan's time is the larger of its bytes on the bus, and the sum over its steps of computation or, of
a step that streams, its own loads and copies if they take longer: these begin and end with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from npuc.backends.roofline.iteration.best import Ladder, PlanChoice, in_chunks
from npuc.backends.roofline.iteration.prefetch import Floats, Rates
from npuc.backends.roofline.iteration.steps import Transfers
from npuc.backends.roofline.iteration.timeline import bytes_by_step, timeline
from npuc.backends.roofline.iteration.trace import Ints

Speeds = tuple[float, float]
"""10^12 operations and 10^9 bytes a second of a machine."""
Taken = tuple[int, int]
"""The rule and the rung of a plan."""
TIMED = 1 << 20
"""The most accesses times lanes whose timelines are made at once: they stay near the processor."""
SPEEDS_KEPT = 4096
"""The most speeds for which a ladder keeps what was taken."""
ROUNDING = 1e-9
"""Sums of floats in another order differ by less, as a fraction."""
FIRST_LOOKS = (3, 12)
"""So many rungs are looked at for the beginning of a climb, then so many more, then all."""


@dataclass
class _Climb:
    """
    The climb at one speed, from the lowest to the highest place that is asked for: what is known of the times of plans,
    [rule, rung], and where it begins, None until that is found.
    """

    speeds: Speeds
    low: int
    high: int
    bound: Floats
    seconds: Floats
    start: int | None = None
    taken: list[Taken] = field(default_factory=list[Taken])

    @property
    def asked(self) -> list[int]:
        """The rungs where it may begin and whose plans have no time yet, the highest first."""
        below = np.isnan(self.seconds[:, : self.low + 1]).all(axis=0)
        return np.flatnonzero(below)[::-1].tolist()


@dataclass
class TimedLadder:
    """A ladder, and what machines of the speeds that were asked for take of it."""

    ladder: Ladder
    transfers: Transfers
    _known: dict[Speeds, _Climb] = field(default_factory=dict[Speeds, _Climb])

    def choose(self, capacities: Ints, speeds: Sequence[Speeds]) -> PlanChoice:
        """The best plan for each capacity in bytes at its speeds."""
        ladder = self.ladder
        place = np.maximum(np.searchsorted(ladder.rungs, capacities, side="right") - 1, 0)
        asked: dict[Speeds, list[int]] = {}
        for pair, rung in zip(speeds, place.tolist(), strict=True):
            asked.setdefault(pair, []).append(rung)
        self._climb(asked)
        known = [self._known[pair] for pair in speeds]
        taken: list[Taken] = [
            one.taken[rung - (one.start or 0)] for one, rung in zip(known, place.tolist(), strict=True)
        ]
        rule, rung = np.array(taken, dtype=np.int64).reshape(-1, 2).T
        made = np.where(ladder.rungs[rung] <= capacities, rule * len(ladder.rungs) + rung, -1)
        return PlanChoice(np.minimum(ladder.rungs[rung], capacities), np.array(ladder.rules)[rule], made)

    def _climb(self, asked: dict[Speeds, list[int]]) -> None:
        """Find what is taken at each speed on these rungs."""
        if len(self._known) + len(asked) > SPEEDS_KEPT:
            self._known = {}
        new: list[_Climb] = []
        for pair, rungs in asked.items():
            known, low, high = self._known.get(pair), min(rungs), max(rungs)
            if known is None or known.start is None or low < known.start or high > known.high:
                bound = self._bound(pair)
                low = low if known is None else min(low, known.low)
                high = high if known is None else max(high, known.high)
                new.append(_Climb(pair, low, high, bound, np.full(bound.shape, np.nan)))
        waiting = new
        for look in (*FIRST_LOOKS, len(self.ladder.rungs)):
            self._time([(one, self._candidates(one)[:look]) for one in waiting])
            for one in waiting:
                one.start = self._start(one)
            waiting = [one for one in waiting if one.start is None]
        self._time([(one, self._above(one)) for one in new])
        for one in new:
            one.taken = list(self._taken(one))
        self._known |= {one.speeds: one for one in new}

    def _bound(self, speeds: Speeds) -> Floats:
        """A lower bound of the time of each plan, [rule, rung]."""
        tflops, gb_per_s = speeds
        trace = self.ladder.plans[0].trace
        compute = Rates.of(tflops, gb_per_s).compute(trace)
        found = np.maximum(compute, self._streamed / (gb_per_s * 1e9)).sum(axis=0)
        moved = self.ladder.moved
        return np.maximum(found.reshape(moved.shape), moved / (gb_per_s * 1e9)) * (1 - ROUNDING)

    @cached_property
    def _streamed(self) -> Floats:
        """The bytes that steps move while they stream, [step, lane]."""
        parts: list[Floats] = []
        for plan in self.ladder.plans:
            here = plan.streams[plan.trace.step]
            loaded = bytes_by_step(plan, ~plan.cached & plan.trace.read[:, None] & here)
            parts.append(loaded + bytes_by_step(plan, plan.offload & here))
        return np.concatenate(parts, axis=1)

    @cached_property
    def _least_moved(self) -> Ints:
        """The least that a plan of a lower rung moves, by rung; for the lowest one more than all."""
        least = np.minimum.accumulate(self.ladder.moved.min(axis=0))
        return np.concatenate(([np.iinfo(np.int64).max], least[:-1]))

    def _least_bound(self, one: _Climb) -> Floats:
        """The least bound of a plan of a lower rung, by rung."""
        return np.concatenate(([inf], np.minimum.accumulate(one.bound.min(axis=0))[:-1]))

    def _candidates(self, one: _Climb) -> list[int]:
        """The rungs where a climb may begin, as far as bytes and bounds say, the highest first; not those timed."""
        may = (self.ladder.moved <= self._least_moved) & (one.bound <= self._least_bound(one))
        return [rung for rung in one.asked if may[:, rung].any()]

    def _start(self, one: _Climb) -> int | None:
        """The highest timed rung at which it is known what is taken, whatever is taken below; None if there is none."""
        sure = (self.ladder.moved <= self._least_moved) & (one.seconds <= self._least_bound(one))
        for rung in np.flatnonzero(sure[:, : one.low + 1].any(axis=0))[::-1].tolist():
            plans = sorted((one.seconds[rule, rung], self.ladder.moved[rule, rung], rule) for rule in range(len(sure)))
            if sure[plans[0][2], rung]:
                return rung
        return None

    def _above(self, one: _Climb) -> list[tuple[int, int]]:
        """The plans above the beginning that may be taken: rules and rungs."""
        assert one.start is not None, "at the lowest rung nothing is below"
        moved, start = self.ladder.moved, one.start
        _, most, rule = min((one.seconds[rule, start], moved[rule, start], rule) for rule in range(len(moved)))
        may = (moved <= most) & (one.bound <= one.seconds[rule, start])
        may[:, : start + 1], may[:, one.high + 1 :] = False, False
        return [(int(rule), int(rung)) for rule, rung in np.argwhere(may & np.isnan(one.seconds))]

    def _time(self, wanted: Sequence[tuple[_Climb, Sequence[int | tuple[int, int]]]]) -> None:
        """Time plans: all of a rung, or those of a rule and a rung."""
        rules = range(len(self.ladder.rules))
        lanes: list[tuple[_Climb, int, int]] = []
        for one, places in wanted:
            for place in places:
                some = [(rule, place) for rule in rules] if isinstance(place, int) else [place]
                lanes += [(one, rule, rung) for rule, rung in some]
        trace, count = self.ladder.plans[0].trace, len(self.ladder.rungs)
        for chunk in in_chunks(trace, len(lanes), TIMED):
            some = lanes[chunk]
            plan = self.ladder.lanes(np.array([rule * count + rung for _, rule, rung in some], dtype=np.int64))
            tflops, gb_per_s = np.array([one.speeds for one, _, _ in some]).T
            totals = timeline(plan, tflops, gb_per_s, self.transfers).total.tolist()
            for (one, rule, rung), total in zip(some, totals, strict=True):
                one.seconds[rule, rung] = total

    def _taken(self, one: _Climb) -> Iterator[tuple[int, int]]:
        """The rule and the rung of the plan taken at each rung from the beginning up to the highest asked for."""
        assert one.start is not None, "at the lowest rung nothing is below"
        best, last = (inf, inf), (0, 0)
        moved, seconds = self.ladder.moved, np.where(np.isnan(one.seconds), inf, one.seconds)
        for rung in range(one.start, one.high + 1):
            own = [(seconds[rule, rung], moved[rule, rung], rule) for rule in range(len(moved))]
            own = [plan for plan in own if plan[1] <= best[1] and plan[0] <= best[0] and plan[0] < inf]
            if own:
                *least, rule = min(own)
                best, last = (least[0], least[1]), (rule, rung)
            yield last


def choose(
    ladder: Ladder, capacities: Ints, tflops: float, gb_per_s: float, transfers: Transfers = Transfers()
) -> PlanChoice:
    """The best plans for capacities in bytes on a machine; with more capacity neither bytes nor time increase."""
    return TimedLadder(ladder, transfers).choose(capacities, [(tflops, gb_per_s)] * len(capacities))
