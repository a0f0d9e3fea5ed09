"""
The search space of mappings of a contraction.

A mapping has as many levels as each of `fanouts` names. At each level a dimension is given in tiles (spatial tile =
what a sub-cluster gets), and up to `parallel` dimensions are spread over sub-clusters: a step takes as many tiles as
the dimension's *width*, or what there is. Any order of loops. All of it is legal by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from npuc.compiler.analysis.mapping.constraints.limits import LevelConstraint, MapConstraints
from npuc.compiler.explore.mapping.constrained.legal import LegalTiles, divisors
from npuc.dialects.npu.nest import Nest

Spread = tuple[tuple[int, int], ...]
"""The dimensions (by place) that a level spreads over sub-clusters, with the width of each."""


@dataclass(frozen=True)
class MapSpace:
    """
    A frozen space: dimensions by name and size, the sub-clusters of each level (from the top) that may be chosen.

    `whole` are dimensions that are never cut. With `divisors` a tile divides the enclosing tile, else it is any integer
    up to it. `constraints` leave out mappings, those with clusters of other sizes already from `fanouts`.
    """

    dims: tuple[tuple[str, int], ...]
    fanouts: tuple[tuple[int, ...], ...]
    parallel: int = 1
    divisors: bool = True
    whole: frozenset[str] = frozenset()
    constraints: MapConstraints | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The dimensions, in order."""
        return tuple(name for name, _ in self.dims)

    @cached_property
    def cut(self) -> tuple[int, ...]:
        """The dimensions, by place, that tiles can cut."""
        return tuple(at for at, (name, size) in enumerate(self.dims) if size > 1 and name not in self.whole)

    @property
    def levels(self) -> int:
        """The number of levels."""
        return len(self.fanouts[0])

    @property
    def content(self) -> tuple[object, ...]:
        """What distinguishes the space from others, whose `repr` is the same in every process."""
        own = (self.dims, self.fanouts, self.parallel, self.divisors, sorted(self.whole))
        return own if self.constraints is None else (*own, self.constraints)

    @cached_property
    def legal(self) -> tuple[LegalTiles, ...]:
        """The tiles of each dimension that the constraints leave; none where there are no constraints."""
        if self.constraints is None:
            return ()
        return tuple(
            LegalTiles.of(self.constraints, at, size, divides=self.divisors, whole=name in self.whole)
            for at, (name, size) in enumerate(self.dims)
        )

    def level(self, number: int) -> LevelConstraint:
        """The constraints of a level."""
        return LevelConstraint() if self.constraints is None else self.constraints.levels[number]

    def tiles(self, level: int, at: int, given: int) -> Sequence[int]:
        """The tile sizes into which a level may cut a tile of the dimension at a place."""
        if self.constraints is not None:
            return self.legal[at].tiles(level, given)
        if at not in self.cut:
            return (given,)
        return divisors(given) if self.divisors else range(1, given + 1)

    def widths(self, level: int, fanout: int) -> list[tuple[int, ...]]:
        """
        The widths of the dimensions that a level spreads over so many sub-clusters, in the order in which they take
        them, those first that must be spread; empty where none can be.
        """
        own = self.level(level)
        may = len(self.cut) if own.may is None else len(set(own.may) & set(self.cut))
        found = widths_of(fanout, min(self.parallel, len(self.cut)))
        return [one for one in found if len(own.must) <= len(one) <= may]

    def spreads(self, level: int, fanout: int) -> tuple[Spread, ...]:
        """
        All ways in which a level may spread dimensions over so many sub-clusters, also none of them; each with a width
        of 2 up.
        """
        found: list[Spread] = [()]
        own = self.level(level)
        allowed = [at for at in self.cut if own.may is None or at in own.may]
        for widths in widths_of(fanout, self.parallel):
            for dims in product(allowed, repeat=len(widths)):
                if len(set(dims)) == len(dims):
                    found.append(tuple(sorted(zip(dims, widths, strict=True))))
        return tuple(one for one in dict.fromkeys(found) if set(own.must) <= {at for at, _ in one})


def widths_of(fanout: int, most: int) -> tuple[tuple[int, ...], ...]:
    """
    The widths, from 2 up, of dimensions that share so many sub-clusters.

    One dimension takes all; of up to `most` each takes a factor, some of which may be left over.
    """
    if most == 1:
        return ((fanout,),) if fanout > 1 else ()
    found: list[tuple[int, ...]] = []
    for first in divisors(fanout)[1:]:
        found += [(first,), *((first, *rest) for rest in widths_of(fanout // first, most - 1))]
    return tuple(dict.fromkeys(found))


def fanouts_of(num_pes: int, levels: int) -> tuple[tuple[int, ...], ...]:
    """
    The sub-clusters of `levels` levels on so many processing elements.

    The size of a cluster is a divisor of the enclosing one, or a power of two; elements outside of all clusters idle.
    """
    if levels == 1:
        return ((num_pes,),)
    powers = {1 << n for n in range(num_pes.bit_length())}
    sizes = sorted(size for size in {*divisors(num_pes), *powers} if size <= num_pes)
    return tuple((num_pes // size, *inner) for size in sizes for inner in fanouts_of(size, levels - 1))


def space_of(nest: Nest, num_pes: int, levels: int = 2, parallel: int = 1, *, divisors: bool = True) -> MapSpace:
    """The space of a nest in cluster form, on its own dimensions."""
    return MapSpace(nest.dims, fanouts_of(num_pes, levels), parallel, divisors)
