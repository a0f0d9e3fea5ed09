"""
The candidates of a schedule search that are worth timing: no other one needs less of something and more of nothing.

A candidate *covers* another one if it needs no more of anything and less of something (`Candidates.needs`). A candidate
is compared with the others when it is the next to be timed, and each comparison leaves out all that one uncovered
candidate covers. So there are about as many comparisons as uncovered candidates, however many are covered.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.schedule.grid.space import Grid, Reals

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Candidates:
    """
    Candidates with their costs: their rows among the residency choices (`row`) and positions in the grid (`at`).

    `score` estimates the objective, `time` the cycles; `bound` is a lower bound of the exact score, `moved` counts bits
    and `room` bytes of SPM. `joules` is the energy, the same for all where the machine does not say it. `needs` are
    what some candidates take on any machine with this array, a row each: SPM, traffic, array cycles, exposed bits, how
    uneven its loads are (the sum of their squares), energy where the objective has it. Where cycles are bounds, only
    those of equal tiles compare, whose numbers are `kinds`. `on_edges()` are the array cycles of some with each edge
    that a search distinguishes, a row each. `floor` is the least time of a candidate; no exact time is below, not even
    by rounding.
    """

    row: Grid
    at: Grid
    score: Reals
    time: Reals
    bound: Reals
    moved: Reals
    room: Reals
    joules: Reals
    needs: Callable[[Grid], Reals]
    kinds: Grid | None
    on_edges: Callable[[Grid], Reals]
    floor: Callable[[int], float]

    def compared(self, some: Grid) -> "LeastNeeds":
        """Some candidates, with numbers of their own, to be left out where others of them cover them."""
        return LeastNeeds(self.needs(some), None if self.kinds is None else self.kinds[some])


def lowest(keys: Sequence[Reals]) -> Grid:
    """The candidates that are least by the first key, of these by the second, and so on."""
    found: Grid = np.arange(len(keys[0]))
    for values in keys:
        own = values[found]
        found = found[own == own.min()]
    return found


class LeastNeeds:
    """
    Candidates with their `needs`, a row each, of which covered ones are left out bit by bit.

    With `kinds`, a number for each candidate, only candidates of one kind are compared.
    """

    def __init__(self, needs: Reals, kinds: Grid | None = None):
        self._needs = needs
        self._out = np.zeros(needs.shape[1], dtype=np.bool_)
        self._kinds: Grid = np.zeros(needs.shape[1], dtype=np.int64) if kinds is None else kinds
        self._by_kind: Grid = np.arange(needs.shape[1]) if kinds is None else np.argsort(kinds, kind="stable")
        self._sorted_kinds: Grid = self._kinds[self._by_kind]
        self._known: dict[int, _Compared] = {}

    def take(self, number: int) -> Grid | None:
        """The candidates with the needs of this one, which are then left out; None if it is left out or covered."""
        if self._out[number]:
            return None
        kind, mine = int(self._kinds[number]), self._needs[:, number]
        compared = self._known.get(kind)
        if compared is None or compared.out > len(compared.numbers) // 2:
            compared = self._known[kind] = self._compared(kind)
        # What is out among these is covered by one that is left: it is neither the least nor equal to it.
        better = compared.at_most(mine)
        # The least by all needs, one after the other, is covered by none.
        first = int(better[np.lexsort(self._needs[:, better])[0]])
        leading = self._needs[:, first]
        covered = compared.at_least(leading)
        taken = bool((leading == mine).all())
        if not taken:
            covered = covered[(self._needs[:, covered] != leading[:, np.newaxis]).any(axis=0)]
        compared.out += len(covered) - int(self._out[covered].sum())
        self._out[covered] = True
        return np.sort(better) if taken else None

    def keep(self, chosen: Mask) -> None:
        """Take only chosen candidates from now on (a mask over all); what covers a chosen one must be chosen."""
        self._out |= ~chosen
        self._known.clear()

    def left(self, ranked: Grid) -> Iterator[int]:
        """Those of the ranked candidates that are not left out when they are next; most are, and many at once."""
        start, count = 0, 64
        while start < len(ranked):
            some = ranked[start : start + count]
            yield from map(int, some[~self._out[some]])
            start, count = start + count, min(2 * count, 4096)

    def _compared(self, kind: int) -> "_Compared":
        start, end = (int(np.searchsorted(self._sorted_kinds, one)) for one in (kind, kind + 1))
        numbers = self._by_kind[start:end]
        numbers = numbers[~self._out[numbers]]
        return _Compared(numbers, self._needs[:, numbers])


class _Compared:
    """Candidates to compare with, of which `out` are left out already, in the order of their first need."""

    def __init__(self, numbers: Grid, needs: Reals):
        ranked = np.argsort(needs[0], kind="stable")
        self.numbers, self.needs, self.out = numbers[ranked], needs[:, ranked], 0

    def at_most(self, limits: Reals) -> Grid:
        """The candidates that need no more than `limits` of anything."""
        end = int(np.searchsorted(self.needs[0], limits.item(0), side="right"))
        found: Grid = np.arange(end)
        for row, limit in zip(self.needs[1:], limits[1:], strict=True):
            found = found[row[found] <= limit]
        return self.numbers[found]

    def at_least(self, limits: Reals) -> Grid:
        """The candidates that need no less than `limits` of everything."""
        start = int(np.searchsorted(self.needs[0], limits.item(0), side="left"))
        found: Grid = np.arange(start, len(self.numbers))
        for row, limit in zip(self.needs[1:], limits[1:], strict=True):
            found = found[row[found] >= limit]
        return self.numbers[found]
