"""The candidates of a part that may be the best beside other parts on some machine, by traffic or energy."""

from collections.abc import Callable, Iterator

import numpy as np

from npuc.compiler.analysis.schedule.candidates import PROBED, ROUNDING
from npuc.compiler.analysis.schedule.least_needs import Candidates, LeastNeeds
from npuc.compiler.analysis.schedule.machine_space import Space
from npuc.dialects.npu.nest import Schedule

Place = tuple[int, int]
"""A row of the residency choices and a position in the grid of tiles."""


def front(space: Space, most: Callable[[], float]) -> Iterator[Schedule]:
    """
    The candidates that no other one covers, which takes no more SPM, traffic and energy and less of one, by their
    scores, as long as these are at most `most`, which may fall meanwhile.

    Of equal ones it is the first. What leaves out a candidate takes no more SPM, and places do not depend on it, so
    that with less SPM these are the same but for those that do not fit.
    """
    if space.least > ROUNDING * most():
        return
    probed = space.candidates(most(), probed=PROBED)
    if not len(probed.row) and len(space.steps.at) <= PROBED:
        return
    first: Place | None = None
    if len(probed.row):
        # That of the least score first: what is known of it leaves out most others.
        least = min(most(), ROUNDING * float(probed.score.min()))
        first = next((place for place, score in _uncovered(space.candidates(least)) if score <= least), None)
    if first is not None:
        yield space.costs.schedule(space.options.choices, *first)
    for place, score in _uncovered(space.candidates(most())):
        if score > most():
            return
        if place != first:
            yield space.costs.schedule(space.options.choices, *place)


def _uncovered(found: Candidates) -> Iterator[tuple[Place, float]]:
    """The candidates that no other one covers by score, traffic and SPM, with their scores, in the order of these."""
    needs = LeastNeeds(np.stack([found.score, found.moved, found.room]))
    for number in needs.left(np.lexsort((found.room, found.moved, found.score))):
        equal = needs.take(number)
        if equal is not None:
            yield min((int(found.row[one]), int(found.at[one])) for one in equal), float(found.score[number])
