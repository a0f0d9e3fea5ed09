"""
What constraints mean for the dimensions of one contraction, by their places.

A tile is cut from what its level is given, and no larger: a tile that must be larger is all that is given. Where tiles
divide what is given, a tile of a fixed size is the largest divisor that is no larger.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

WHOLE = 1 << 62
"""A least tile that no dimension reaches: all that is given."""


@dataclass(frozen=True)
class TileLimit:
    """The tiles of a dimension: those of fixed sizes (all of them), the least one and the most."""

    fixed: tuple[int, ...] = ()
    least: int = 1
    most: int = WHOLE

    def joined(self, other: TileLimit) -> TileLimit:
        """Both limits together."""
        fixed = tuple(sorted({*self.fixed, *other.fixed}))
        return TileLimit(fixed, max(self.least, other.least), min(self.most, other.most))


@dataclass(frozen=True)
class LevelConstraint:
    """
    What one level allows.

    `tiles` are limits by dimension, sorted; `may` the dimensions that may be spread (None: any) and `must` those that
    must be; `before` pairs of dimensions, the loop of the first outside of the second's, transitively closed; `fanout`
    is the number of sub-clusters, `utilization` the least share of them that work in a whole step.
    """

    tiles: tuple[tuple[int, TileLimit], ...] = ()
    may: tuple[int, ...] | None = None
    must: tuple[int, ...] = ()
    before: tuple[tuple[int, int], ...] = ()
    fanout: tuple[int, ...] = ()
    utilization: float = 0.0

    def limit(self, dim: int) -> TileLimit | None:
        """The limit of a dimension's tiles, if it has one."""
        return dict(self.tiles).get(dim)

    def with_tile(self, dim: int, limit: TileLimit) -> LevelConstraint:
        """The same with one more limit."""
        found = dict(self.tiles)
        found[dim] = found[dim].joined(limit) if dim in found else limit
        return replace(self, tiles=tuple(sorted(found.items())))

    def with_spread(self, dims: Iterable[int]) -> LevelConstraint:
        """The same where only these may be spread."""
        own = set(dims) if self.may is None else set(self.may) & set(dims)
        return replace(self, may=tuple(sorted(own)))

    def with_must(self, dims: Iterable[int]) -> LevelConstraint:
        """The same where these must be spread, too."""
        return replace(self, must=tuple(sorted({*self.must, *dims})))

    def with_before(self, pairs: Iterable[tuple[int, int]]) -> LevelConstraint:
        """The same with more loops outside of others. Two that are outside of each other stay: nothing meets them."""
        found = {*self.before, *pairs}
        while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
            found |= more
        return replace(self, before=tuple(sorted(found)))

    @property
    def is_contradictory(self) -> bool:
        """Whether some loop would be outside of itself, or a dimension that may not be spread must be."""
        return any(a == b for a, b in self.before) or (self.may is not None and not set(self.must) <= set(self.may))


@dataclass(frozen=True)
class MapConstraints:
    """
    The constraints of each level, from the top; `utilization` is the least share of all `elements` that work in a whole
    step, and `divisors` says that tiles must divide what they are cut from.
    """

    levels: tuple[LevelConstraint, ...]
    elements: int
    utilization: float = 0.0
    divisors: bool = False

    @property
    def needs_work(self) -> bool:
        """Whether a share of the elements must work."""
        return self.utilization > 0 or any(level.utilization > 0 for level in self.levels)
