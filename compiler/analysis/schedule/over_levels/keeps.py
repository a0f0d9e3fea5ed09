"""
The best depths in the levels outside of SPM, for given loops and depths in SPM: the best of all that fit.

What moves and what it takes is a sum over the tensors, and so is energy; a time is looked at in the order of a lower
bound, until that is no better than the best time found.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import add

from npuc.compiler.analysis.machine.facts import Machine
from npuc.compiler.analysis.machine.levels.views import at_level, level_names, views_of
from npuc.compiler.analysis.nest.elements import BYTE, Bits, Width
from npuc.compiler.analysis.schedule.costs import Objective
from npuc.compiler.analysis.schedule.exact_cost import ExactCost, exact_costs
from npuc.compiler.analysis.schedule.near_ties import NEXT, next_measures
from npuc.compiler.analysis.schedule.over_levels.options import LevelOption, options_of
from npuc.compiler.analysis.timing.double_buffer import pipeline
from npuc.dialects.npu.nest import LevelKeep, Nest, Schedule

MANY = 4096
"""From so many combinations on only those are looked at that no other one is better than in all they take and move."""
ROUNDING = 1 - 1e-9
"""What a lower bound in floats is multiplied with to be one."""


@dataclass(frozen=True)
class KeptSchedule:
    """A schedule with its depths in all levels, and what it costs."""

    schedule: Schedule
    cost: ExactCost


class KeepSearch:
    """The combinations of depths of one schedule, whose depths in SPM are given."""

    def __init__(self, nest: Nest, schedule: Schedule, machine: Machine, objective: Objective, widths: Bits):
        self.nest, self.machine, self.widths = nest, machine, widths
        self.objective: Objective = objective
        self.plain = replace(schedule, outer=())
        self.bounds = _Bounds(nest, self.plain, machine, widths)
        self.options = _combined(list(options_of(nest, self.plain, machine, widths).values()), machine)
        self.known: dict[LevelOption, KeptSchedule] = {}

    def exact(self, option: LevelOption) -> KeptSchedule:
        """A combination with what it costs."""
        if option not in self.known:
            found = replace(self.plain, outer=_outer(self.nest, self.plain, option, self.machine))
            self.known[option] = KeptSchedule(found, exact_costs(self.nest, found, self.machine, self.widths))
        return self.known[option]

    def ordered(self, objective: Objective) -> list[tuple[float, LevelOption]]:
        """The combinations with their lower bounds, the least first, of equal ones those of less traffic and room."""
        every = [(self.bounds.score(one, objective), one) for one in self.options]
        return sorted(every, key=lambda entry: (entry[0], entry[1].moved[-1], entry[1].room))

    def best(self, best: KeptSchedule | None = None) -> KeptSchedule | None:
        """The best combination by the objective, of equal ones that of less traffic, or `best` if that is no worse."""
        for bound, one in self.ordered(self.objective):
            if best is not None and bound * ROUNDING > best.cost.score(self.objective):
                break
            found = self.exact(one)
            if best is None or _key(found, self.objective) < _key(best, self.objective):
                best = found
        return best

    def near(self, best: KeptSchedule, most: Fraction) -> KeptSchedule:
        """The best combination by the next measures among those that cost at most `most`, or `best` if that is one."""
        measures: list[Objective] = [
            one for one in NEXT[self.objective] if one != "energy" or self.bounds.base.joules is not None
        ]
        for bound, one in self.ordered(measures[0]):
            if bound * ROUNDING > best.cost.score(measures[0]):
                break
            if self.bounds.score(one, self.objective) * ROUNDING > float(most):
                continue
            found = self.exact(one)
            if found.cost.reported(self.objective) <= most and _next(found, self.objective) < _next(
                best, self.objective
            ):
                best = found
        return best


def best_keeps(
    nest: Nest, loops: Iterable[Schedule], machine: Machine, objective: Objective, widths: Bits, tolerance: float
) -> Schedule:
    """
    Of some loops with their depths in SPM the best with the best depths in all levels: by the next measures
    (`near_ties.py`) among those that cost up to the tolerance more than the least by the objective.
    """
    searches = [KeepSearch(nest, one, machine, objective, widths) for one in loops]
    best: KeptSchedule | None = None
    for search in searches:
        best = search.best(best)
    assert best is not None, "a schedule keeps no more in any level than in SPM"
    if tolerance:
        most = best.cost.reported(objective) * (1 + Fraction(tolerance))
        for search in searches:
            best = search.near(best, most)
    return best.schedule


def _key(found: KeptSchedule, objective: Objective) -> tuple[float, float]:
    return found.cost.score(objective), found.cost.moved


def _next(found: KeptSchedule, objective: Objective) -> tuple[float, ...]:
    return (*next_measures(found.cost, objective), found.cost.score(objective))


def _outer(nest: Nest, schedule: Schedule, option: LevelOption, machine: Machine) -> tuple[LevelKeep, ...]:
    """What a combination keeps, where that is more than the next level inwards; its depths are those of all tensors."""
    inside = {name: schedule.keep_depth(name) for name in nest.tensors}
    found: list[LevelKeep] = []
    count = len(machine.levels)
    for number, level in enumerate(level_names(machine)):
        depths = dict(zip(nest.tensors, option.depths[number::count], strict=True))
        more = tuple((name, depth) for name, depth in depths.items() if depth > inside[name])
        if more:
            found.append(LevelKeep(level, more))
        inside = depths
    return tuple(found)


def _combined(options: Sequence[Sequence[LevelOption]], machine: Machine) -> list[LevelOption]:
    """All combinations of a way for each tensor that fit; of many those that may be the best."""
    rooms = tuple(level.size * machine.cores for level in machine.levels)
    nothing = (0,) * len(rooms)
    found = [LevelOption((), nothing, nothing, nothing)]
    for own in options:
        joined = [both for one in found for other in own if _fits(both := _with(one, other), rooms)]
        found = joined if len(joined) <= MANY else list(_undominated(joined))
    return found


def _with(one: LevelOption, other: LevelOption) -> LevelOption:
    return LevelOption(
        (*one.depths, *other.depths),
        tuple(map(add, one.room, other.room)),
        tuple(map(add, one.moved, other.moved)),
        tuple(map(add, one.head, other.head)),
    )


def _fits(option: LevelOption, rooms: Sequence[int]) -> bool:
    return all(taken <= room for taken, room in zip(option.room, rooms, strict=True))


def _undominated(options: Sequence[LevelOption]) -> Iterator[LevelOption]:
    """The combinations than which no other one takes, moves and waits for as little of all."""
    taken: list[tuple[Width, ...]] = []
    for one in sorted(options, key=lambda option: (option.room, option.moved, option.head)):
        needs = (*one.room, *one.moved, *one.head)
        if not any(all(a <= b for a, b in zip(other, needs, strict=True)) for other in taken):
            taken.append(needs)
            yield one


class _Bounds:
    """Lower bounds of what the combinations of a schedule cost; those of traffic and energy are exact."""

    def __init__(self, nest: Nest, schedule: Schedule, machine: Machine, widths: Bits):
        self.machine, self.base = machine, exact_costs(nest, schedule, machine, widths)
        near, *_ = views_of(schedule, machine)
        inner = pipeline(nest, schedule, near.machine, widths)
        self.compute, self.inner = inner.compute, inner
        self.rates = [at_level(machine, number).channel_bits for number in range(1, len(machine.levels) + 1)]

    def score(self, option: LevelOption, objective: Objective) -> float:
        if objective == "traffic" or (objective != "time" and self.base.joules is None):
            return float(option.moved[-1])
        if objective == "time":
            return self._time(option)
        return self._joules(option) * (self._time(option) if objective == "edp" else 1.0)

    def _time(self, option: LevelOption) -> float:
        transfers = [moved / rate for moved, rate in zip(option.moved, self.rates, strict=True)]
        if not self.machine.double_buffer:
            return float(self.inner.time + sum(transfers))
        ends = sum((head / rate for head, rate in zip(option.head, self.rates, strict=True)), Fraction(0))
        return float(max(self.inner.time + ends, *transfers))

    def _joules(self, option: LevelOption) -> float:
        """By that of the schedule which keeps nothing outside of SPM."""
        energy = self.machine.energy
        assert energy is not None
        assert self.base.joules is not None
        found = self.base.joules
        moved = (self.inner.moved, *option.moved)
        far = self.base.moved
        for number, level in enumerate(self.machine.levels):
            less = moved[number] + moved[number + 1] - (self.inner.moved if number == 0 else far) - far
            found += 1e-12 * (level.pj_per_byte or 0.0) * float(less) / BYTE
        return found + 1e-12 * energy.dram_pj_per_byte * float(option.moved[-1] - far) / BYTE
