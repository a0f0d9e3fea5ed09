"""
Near ties: among programs that cost almost as little as the best by the objective, the best by the next measure.

    time      energy, then traffic
    energy    time, then traffic
    traffic   time, then energy
    edp       time

Energy is left out where the machine does not say it. With a tolerance of 0 only the objective counts, and traffic
between equal scores. What is near is judged by whole cycles, as a report says them, and exactly: with a tolerance t no
program is taken that costs more than 1 + t times one that is known.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import ceil, floor, nextafter
from typing import Protocol, TypeVar

from npuc.compiler.analysis.schedule.costs import Objective

NEXT: dict[Objective, tuple[Objective, ...]] = {
    "time": ("energy", "traffic"),
    "energy": ("time", "traffic"),
    "traffic": ("time", "energy"),
    "edp": ("time",),
}
"""What decides between programs of nearly the same score, in this order."""


class Measured(Protocol):
    """What a program costs."""

    @property
    def joules(self) -> float | None:
        """Its energy; None where the machine does not say it."""
        ...

    def score(self, objective: Objective) -> float:
        """The value of an objective."""
        ...

    def reported(self, objective: Objective) -> Fraction:
        """The value of an objective with whole cycles, exactly."""
        ...


Option = TypeVar("Option")


def next_measures(cost: Measured, objective: Objective) -> tuple[float, ...]:
    """What decides after the objective, as far as the machine says it."""
    return tuple(cost.score(one) for one in NEXT[objective] if one != "energy" or cost.joules is not None)


def near_limit(least: Fraction, objective: Objective, tolerance: float) -> float:
    """The largest score that is near one, as a report says it, within a tolerance."""
    most = least * (1 + Fraction(tolerance))
    return float(floor(most)) if objective in ("time", "traffic") else _at_most(most)


def beating(cost: Measured, objective: Objective, tolerance: float) -> float:
    """The largest score of a program that this one is not near, within a tolerance: what costs no more is better."""
    least = cost.reported(objective) / (1 + Fraction(tolerance))
    return float(ceil(least) - 1) if objective in ("time", "traffic") else nextafter(_at_most(least), 0.0)


def _at_most(value: Fraction) -> float:
    """The largest float that is no more."""
    found = float(value)
    return found if Fraction(found) <= value else nextafter(found, 0.0)


def best_of(
    options: Sequence[Option],
    cost: Callable[[Option], Measured],
    objective: Objective,
    tolerance: float,
    limits: Iterable[Fraction] = (),
) -> Option:
    """
    The best option by the next measures among those that score at most `1 + tolerance` times the least score, and at
    most each of `limits`, which some option meets; the first of equal ones.
    """
    costs = [cost(option) for option in options]
    scores = [one.score(objective) for one in costs]
    if tolerance == 0:
        return options[min(range(len(options)), key=lambda n: (scores[n], costs[n].score("traffic")))]
    reported = [one.reported(objective) for one in costs]
    most = min([min(reported) * (1 + Fraction(tolerance)), *limits])
    near = [n for n, score in enumerate(reported) if score <= most]
    return options[min(near, key=lambda n: (*next_measures(costs[n], objective), scores[n]))]
