"""
Mapping directives as frozen data, as they are written.

    SpatialMap(1, 1) K          the sub-clusters of this level get a K each
    TemporalMap(Sz(R), 1) Y     tiles of R rows, each a row after the one before
    Cluster(64, P)              what follows is inside clusters of 64 (sub-clusters or processing elements)

Directives are outermost first. The form is MAESTRO's: Kwon et al., "Understanding Reuse, Performance, and Hardware Cost
of DNN Dataflow", MICRO 2019.
"""

from collections.abc import Iterator

from npuc.compiler.core.frozen import frozen
from npuc.dialects.mapping.problem import SLIDES, Problem


@frozen
class Sz:
    """The whole size of a dimension of the layer."""

    dim: str

    def __str__(self) -> str:
        return f"Sz({self.dim})"


Extent = int | Sz


@frozen
class Map:
    """
    Tiles of `size` along `dim`, `offset` apart: one after the other, or side by side on the level's sub-clusters.

    What the sub-clusters do not reach in one go is done in several folds, one after the other.
    """

    dim: str
    size: Extent
    offset: Extent
    spatial: bool = False

    def __str__(self) -> str:
        return f"{'Spatial' if self.spatial else 'Temporal'}Map({self.size}, {self.offset}) {self.dim}"


@frozen
class Cluster:
    """The directives after this one are of a level inside: clusters of `size`."""

    size: Extent

    def __str__(self) -> str:
        return f"Cluster({self.size}, P)"


Directive = Map | Cluster

MOST_CLUSTERS = 3
"""The number of Cluster directives that a mapping may have."""


@frozen
class Mapping:
    """
    A layer and its directives.

    `unchecked`: it is scored as it is written, whether or not it computes each point of its layer exactly once; a level
    may then have several maps of a dimension.
    """

    problem: Problem
    directives: tuple[Directive, ...]
    unchecked: bool = False

    def extent(self, value: Extent) -> int:
        """A size or offset in elements. `KeyError` for a dimension that the layer has not."""
        if isinstance(value, int):
            return value
        if value.dim in ("Y'", "X'"):
            dim = value.dim[0]
            return self.problem.sizes[dim] - self.problem.sizes[SLIDES[dim]] + 1
        return self.problem.sizes[value.dim]

    @property
    def levels(self) -> tuple[tuple[Map, ...], ...]:
        """The maps of each level, from the top."""
        levels: list[list[Map]] = [[]]
        for directive in self.directives:
            if isinstance(directive, Cluster):
                levels.append([])
            else:
                levels[-1].append(directive)
        return tuple(tuple(level) for level in levels)

    @property
    def clusters(self) -> tuple[int, ...]:
        """The sizes of the clusters, from the top."""
        return tuple(self.extent(d.size) for d in self.directives if isinstance(d, Cluster))

    def problems(self) -> Iterator[str]:
        """What is wrong with the mapping as it is written, a sentence each; nothing for a right one."""
        found = list(self.problem.problems()) or list(self._directive_problems())
        yield from found or self._level_problems()

    def _directive_problems(self) -> Iterator[str]:
        """Sizes and names of each directive by itself."""
        known = self.problem.mappable
        for one in self.directives:
            extents = [one.size] if isinstance(one, Cluster) else [one.size, one.offset]
            names = [e.dim for e in extents if isinstance(e, Sz)] + ([one.dim] if isinstance(one, Map) else [])
            unknown = next((name for name in names if name not in known), None)
            if unknown is not None:
                yield f"unknown dimension '{unknown}' in {one}, the layer has {', '.join(known)}"
            elif min(map(self.extent, extents)) < 1:
                what = "clusters" if isinstance(one, Cluster) else "tiles and offsets"
                yield f"{one}: {what} must be at least 1"
        if len(self.clusters) > MOST_CLUSTERS:
            yield f"a mapping has at most {MOST_CLUSTERS} Cluster directives, got {len(self.clusters)}"

    def _level_problems(self) -> Iterator[str]:
        """The maps of each level among each other."""
        for number, level in enumerate(self.levels):
            names = [one.dim for one in level]
            twice = {n[0] for n in names if sum(n[0] == other[0] for other in names) > 1}
            for name in sorted(twice) if not self.unchecked else ():
                yield f"level {number} has several maps of {name}"
            spatial = sum(one.spatial for one in level)
            if not 1 <= spatial <= 2:
                yield f"level {number} has {spatial or 'no'} spatial maps, expected one or two"
            for one in level:
                window = SLIDES[one.dim[0]] if one.dim.endswith("'") else None
                if window is not None and window not in names:
                    yield f"{one} needs a map of {window} at the same level"
                size, offset = self.extent(one.size), self.extent(one.offset)
                if self.problem.slides and one.dim in SLIDES.values() and not one.spatial:
                    whole = self.problem.sizes[one.dim]
                    if not size == offset == whole:
                        yield f"{one}: a temporal map of {one.dim} must be of all {whole}, and as much apart"
