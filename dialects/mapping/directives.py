"""
Mapping directives as frozen data, as they are written.

    SpatialMap(1, 1) K          the sub-clusters of this level get a K each
    TemporalMap(Sz(R), 1) Y     tiles of R rows, each a row after the one before
    Cluster(64, P)              what follows is inside clusters of 64 (sub-clusters or processing elements)

Directives are outermost first. The form is MAESTRO's: Kwon et al., "Understanding Reuse, Performance, and Hardware Cost
of DNN Dataflow", MICRO 2019.
"""

from dataclasses import dataclass

from npuc.dialects.mapping.problem import OUTPUT, SLIDES, Problem


@dataclass(frozen=True)
class Sz:
    """The whole size of a dimension of the layer."""

    dim: str

    def __str__(self) -> str:
        return f"Sz({self.dim})"


Extent = int | Sz


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Cluster:
    """The directives after this one are of a level inside: clusters of `size`."""

    size: Extent

    def __str__(self) -> str:
        return f"Cluster({self.size}, P)"


Directive = Map | Cluster


@dataclass(frozen=True)
class Mapping:
    """A layer and its directives."""

    problem: Problem
    directives: tuple[Directive, ...]

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

    def known(self) -> tuple[str, ...]:
        """
        The names that a map of this layer may have: its dimensions, and the output's.

        The K of a DSCONV is one of them where the layer has it, although no tensor is indexed by it.
        """
        dims = self.problem.sizes
        return (*dims, *(OUTPUT[d] for d in dims if d in OUTPUT and self.problem.slides))
