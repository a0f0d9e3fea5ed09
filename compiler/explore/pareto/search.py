"""
The search for a Pareto front over the points of a grid, each of which takes time to price.

Where every point can be looked at, those are left out of which a bound says that they are not on the front: the point
is *excluded*. A point whose goals are at least f is excluded by a priced point with goals g where g <= f in every goal,
and g < f in one, or where the priced point has the lower number: of equal points the first is on the front. If every
point is priced or excluded in the end, the front is that of all points: it is *proved*.

While more points are open than the budget allows to price, children of good points are priced next (`breeding.py`),
and points whose bounds are good; then all that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from npuc.compiler.explore.pareto.breeding import Breeder, Parents
from npuc.compiler.explore.pareto.front import Floats, Ints, pareto
from npuc.compiler.explore.pareto.openness import ENOUGH, OpenPoints
from npuc.compiler.explore.pareto.priced import Floors, Priced
from npuc.compiler.explore.pareto.space import GridSpace
from npuc.compiler.explore.seeds import generator

BATCH, FIRST = 16, 32
"""Points that are chosen at a time, and those that are drawn before any is bred."""
GUIDED = 4
"""Of a batch, those whose bounds are good."""


Price = Callable[[Sequence[int]], Iterable[Priced]]
"""Prices points, in their order, each as soon as it is known."""


@dataclass(frozen=True)
class FrontOutcome:
    """
    What a search found: the numbers of the front, in the order of their goals, and all priced points, in the order in
    which they were priced.

    `excluded` points were not priced, as bounds of their goals exclude them, `implied` of them by bounds that follow
    from points that were priced, and `forbidden` ones, as they break a constraint for certain; `left` were not looked
    at, None where nobody counted. `gap` is by which factor a point that is left may be better than the front in every
    goal at most, None where nothing is left or the bounds do not say. `broken` are points that cost less than their
    bounds: then none were used. `laws` are those by which bounds followed. `interrupt` ended the search.
    """

    front: tuple[int, ...]
    priced: dict[int, Priced]
    excluded: int
    implied: int
    forbidden: int
    left: int | None
    gap: float | None
    broken: tuple[int, ...]
    laws: tuple[str, ...]
    interrupt: KeyboardInterrupt | None

    @property
    def proved(self) -> bool:
        """Whether the front is that of all points."""
        return self.left == 0


@dataclass
class FrontSearch:
    """A search over a space of points with so many goals, of which at most `budget` are priced."""

    space: GridSpace
    goals: int
    price: Price
    budget: int
    seed: int = 0
    floors: Floors | None = None
    priced: dict[int, Priced] = field(default_factory=dict[int, Priced])
    front: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def run(self) -> FrontOutcome:
        """Search until the budget is spent or nothing is open, or until it is interrupted."""
        self._random = generator(self.seed, "optimize", self.space.sizes)
        self._open = OpenPoints(self.space, self.goals, self.floors)
        self._breeder = Breeder(self.space, self._random, self._open.closed)
        none = np.zeros(0)
        self._parents = Parents.of(np.zeros(0, np.int64), np.zeros((0, self.goals)), none)
        self._values = np.zeros((0, self.goals))
        self._drawn = False
        self._born: list[tuple[Ints, Floats, Floats]] = []
        interrupt: KeyboardInterrupt | None = None
        try:
            while batch := self._next()[: self.budget - len(self.priced)]:
                self._visit(batch)
        except KeyboardInterrupt as raised:
            interrupt = raised
        order = np.lexsort((self.front, *self._values.T[::-1]))
        return FrontOutcome(
            tuple(self.front[order].tolist()),
            self.priced,
            self._open.excluded,
            self._open.implied,
            self._open.forbidden,
            self._open.left,
            self._open.gap(self._values),
            tuple(self._open.broken),
            tuple(sorted(self._open.laws)),
            interrupt,
        )

    def _next(self) -> list[int]:
        """The points to price next; none where nothing is open."""
        budget = self.budget - len(self.priced)
        if budget <= 0:
            return []
        left = self._open.left
        if left is not None and left <= budget:
            return self._open.guided(BATCH, self._random, self._values)
        if not self.priced and self._open.informed:  # whether bounds are near to costs is seen first
            return self._open.guided(min(ENOUGH, budget), self._random, self._values)
        if not self._drawn and not self._open.tight:
            self._drawn = True
            return self._breeder.strangers(min(FIRST, budget)) or self._anywhere()
        share = BATCH if self._open.scarce or self._open.tight else GUIDED if self._open.informed else 0
        guided = self._open.guided(share, self._random, self._values)
        bred = [one for one in self._breeder.children(self._bearing(), BATCH - len(guided)) if one not in guided]
        return guided + bred or self._anywhere()

    def _anywhere(self) -> list[int]:
        """Any points that are open, where breeding finds none."""
        return self._open.some(BATCH, self._random)

    def _visit(self, batch: Sequence[int]) -> None:
        """Price points, and see which others they exclude."""
        if self.floors is not None and self._open.trusted and self.floors.learn(batch):
            self._open.refresh(self.front, self._values)
        arrived: list[Priced] = []
        try:
            for one in self.price(batch):
                self.priced[one.number] = one
                arrived.append(one)
        finally:
            self._take(arrived)

    def _take(self, arrived: Sequence[Priced]) -> None:
        """Note points that were priced."""
        self._open.close(arrived)
        known = [one for one in arrived if one.goals is not None]
        if known:
            numbers, goals = _arrays(known, self.goals)
            excess = np.array([one.excess for one in known])
            self._born.append((numbers, goals, excess))
            fine = np.flatnonzero(excess == 0)
            self._join(numbers[fine], goals[fine])
            self._open.tighten(known, self.front, self._values)

    def _bearing(self) -> Parents:
        """The parents among all points that were priced."""
        if self._born:
            numbers, goals, excess = (np.concatenate(parts) for parts in zip(*self._born, strict=True))
            self._parents = self._parents.joined(numbers, goals, excess)
            self._born.clear()
        return self._parents

    def _join(self, numbers: Ints, goals: Floats) -> None:
        """Points that may be on the front."""
        if not len(numbers):
            return
        both, values = np.concatenate([self.front, numbers]), np.concatenate([self._values, goals])
        order = np.argsort(both, kind="stable")
        both, values = both[order], values[order]
        kept = pareto(values)
        self.front, self._values = both[kept], values[kept]
        new = np.flatnonzero(np.isin(self.front, numbers))
        self._open.exclude(self.front[new], self._values[new], self.front, self._values)


def _arrays(known: Sequence[Priced], goals: int) -> tuple[Ints, Floats]:
    values = np.array([one.goals for one in known], np.float64).reshape(len(known), goals)
    return np.array([one.number for one in known], np.int64), values
