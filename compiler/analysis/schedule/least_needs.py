"""
The candidates of a schedule search that are worth timing: no other one needs less of something and more of nothing.

A candidate *covers* another one if it needs no more of anything and less of something (`Candidates.needs`). A candidate
is compared with the others when it is the next to be timed, and each comparison leaves out all that one uncovered
candidate covers. So there are about as many comparisons as uncovered candidates, however many are covered.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.schedule.space import Grid, Reals

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Candidates:
    """
    Candidates with their costs: their rows among the residency choices (`row`) and positions in the grid (`at`).

    `score` estimates the objective, `time` the cycles; `bound` is a lower bound of the exact score, `moved` counts bits
    and `room` bytes of SPM. `joules` is the energy, the same for all where the machine does not say it. `needs()` are
    what a candidate takes on any machine with this array, a row each: SPM, traffic, array cycles, exposed bits, how
    uneven its loads are (the sum of their squares), energy where the objective has it, tiles where cycles are bounds.
    `on_edges()` are the array cycles of some with each edge that a search distinguishes, a row each.
    """

    row: Grid
    at: Grid
    score: Reals
    time: Reals
    bound: Reals
    moved: Reals
    room: Reals
    joules: Reals
    needs: Callable[[], Reals]
    on_edges: Callable[[Grid], Reals]


class LeastNeeds:
    """Candidates with their `needs`, a row each, of which covered ones are left out bit by bit."""

    def __init__(self, needs: Reals):
        self._all, self._needs = needs, needs
        self._left: Grid = np.arange(needs.shape[1])
        self._out = np.zeros(needs.shape[1], dtype=np.bool_)

    def take(self, number: int) -> Grid | None:
        """The candidates with the needs of this one, which are then left out; None if it is left out or covered."""
        if self._out[number]:
            return None
        mine = self._all[:, number]
        better = self._left[_at_most(self._needs, mine)]
        # The least by all needs, one after the other, is covered by none.
        first = int(better[np.lexsort(self._all[:, better])[0]])
        leading = self._all[:, first]
        taken = bool((leading == mine).all())
        out = _at_least(self._needs, leading)
        if not taken:
            out &= ~_at_most(self._needs, leading)
        self._out[self._left[out]] = True
        self._keep(np.logical_not(out))
        return better if taken else None

    def keep(self, chosen: Mask) -> None:
        """Compare only with chosen candidates (a mask over all); what covers a chosen one must be chosen."""
        self._keep(chosen[self._left])

    def _keep(self, mask: Mask) -> None:
        self._left, self._needs = self._left[mask], self._needs[:, mask]


def _at_most(needs: Reals, limits: Reals) -> Mask:
    """Which candidates need no more than `limits` of anything; row by row, which numpy does faster than `all`."""
    mask: Mask = needs[0] <= limits[0]
    for row, limit in zip(needs[1:], limits[1:], strict=True):
        mask &= row <= limit
    return mask


def _at_least(needs: Reals, limits: Reals) -> Mask:
    """Which candidates need no less than `limits` of everything."""
    mask: Mask = needs[0] >= limits[0]
    for row, limit in zip(needs[1:], limits[1:], strict=True):
        mask &= row >= limit
    return mask
