"""
The seconds of units as far as the shortest step depends on them: lower bounds stand for the others.

    plan    = the shortest step, where units that are not costed yet take their lower bounds
    cost the units of that plan, and again, until all of its units are costed

The last plan takes what it is said to take, and every other one at least that: with lower bounds no plan takes longer
than it does. So it is the shortest one. Among plans of equal length it is the one that a search with all units costed
takes, too: lower bounds only add plans of this length, and it comes before all of these.

Most work can be told apart by its bounds: of 265 products of bert_base on 64 devices 24 have their schedules searched.
So it is where the gradients of a product may run together (-O1 to -O3), by what both take at least in any way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from npuc.compiler.analysis.sharding.cost.cost_terms import TypeSequence
from npuc.compiler.analysis.sharding.cost.step_time import key_of
from npuc.compiler.driver.costing.unit_times import CountedUnits, Rows

Seconds = tuple[tuple[dict[str, float], ...], float]
"""The seconds of each group by its keys, and of the work outside all groups."""


def needed_seconds(
    counted: CountedUnits,
    least: Rows,
    costed: Callable[[Collection[int]], Rows],
    shortest: Callable[[Seconds], Sequence[TypeSequence]],
) -> Seconds:
    """
    Seconds with which the shortest step is that with all units costed; what it does not depend on may be less.

    `least` are lower bounds of the rows of each unit, `costed` the rows of some of them. `shortest` is an exact search:
    the plan of the shortest step for seconds of groups and, of equally short ones, the first in an order of plans.
    """
    rows: dict[str, Sequence[float]] = dict(least)
    known: set[int] = set()

    def know(units: Collection[int]) -> None:
        new = sorted(set(units) - known)
        if new:
            found: Mapping[str, Sequence[float]] = costed(new)
            rows.update((str(unit), found.get(str(unit), ())) for unit in new)
            known.update(new)

    know(counted.rest)
    while True:
        seconds = counted.seconds(rows)
        plan = shortest(seconds)
        units = Counter[int]()
        for group, sequence in zip(counted.groups, plan, strict=True):
            units.update(group[key_of(sequence)])
        if known >= units.keys():
            return seconds
        know(units)
