"""What a search for a Pareto front is told of points: of those that were priced, and of all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from npuc.compiler.explore.pareto.front import Flags, Floats, Ints


@dataclass(frozen=True)
class Priced:
    """
    A point that was priced: its goals, each to be small, None where it has none (it does not fit); `excess` is how far
    it breaks constraints, 0 where it meets them.
    """

    number: int
    goals: tuple[float, ...] | None
    excess: float = 0.0

    @property
    def is_fine(self) -> bool:
        """Whether it may be on the front."""
        return self.goals is not None and self.excess == 0


@dataclass(frozen=True)
class Implied:
    """
    What a priced point says of others by a `law`: their rows among those that were asked about, and what they cost at
    least.
    """

    rows: Ints
    bounds: Floats
    law: str


class Floors(Protocol):
    """What is known of points that were not priced."""

    def of(self, numbers: Ints) -> Floats:
        """What each goal of each point is at least, [point, goal]; minus infinity where nothing is known."""
        ...

    def forbidden(self, numbers: Ints) -> Flags:
        """Which points break a constraint for certain."""
        ...

    def learn(self, numbers: Sequence[int]) -> bool:
        """Points are about to be priced: whether more is known of points now."""
        ...

    def implied(self, priced: Sequence[int], among: Ints) -> Iterable[Implied]:
        """What priced points say of others, `among` which are in ascending order."""
        ...
