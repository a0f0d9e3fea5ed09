"""
The cluster form of a mapping: per level an order of loops, a temporal and a spatial tile of each dimension.

    16 [o : 32 / 2, i : 64, y : 1, x : 7]        a level of 16 sub-clusters: o in steps of 32, 2 for each sub-cluster
     8 [i : 64 / 8]                              inside each: 8 processing elements, 8 of i for each

A level works on what it is given in steps of the temporal tiles, loops outermost first; the temporal tile of a step is
cut in spatial tiles, one for each sub-cluster. A dimension that is not listed is whole. Last tiles may be smaller. The
form is that of Jeong et al., "Union: A Unified HW-SW Co-Design Ecosystem in MLIR for Evaluating Tensor Operations on
Spatial Accelerators", PACT 2021.
"""

from collections.abc import Iterator, Mapping

from npuc.compiler.core.frozen import frozen


@frozen
class TileLoop:
    """A dimension at a level: what a step takes of it, and what a sub-cluster gets of a step."""

    dim: str
    temporal: int
    spatial: int

    @property
    def parts(self) -> int:
        """The number of sub-clusters that share a step along this dimension."""
        return -(-self.temporal // self.spatial)

    def __str__(self) -> str:
        return f"{self.dim} : {self.temporal}" + (f" / {self.spatial}" if self.spatial != self.temporal else "")


@frozen
class ClusterLevel:
    """A level: the number of its sub-clusters (at the last level: processing elements), loops outermost first."""

    fanout: int
    loops: tuple[TileLoop, ...]

    @property
    def parts(self) -> int:
        """The number of sub-clusters that a whole step keeps busy."""
        product = 1
        for loop in self.loops:
            product *= loop.parts
        return product

    def __str__(self) -> str:
        return f"{self.fanout} [{', '.join(map(str, self.loops))}]"


@frozen
class Clusters:
    """A mapping in cluster form: its levels from the top."""

    levels: tuple[ClusterLevel, ...]

    @property
    def processing_elements(self) -> int:
        """The processing elements that it is for."""
        product = 1
        for level in self.levels:
            product *= level.fanout
        return product

    def problems(self, sizes: Mapping[str, int]) -> Iterator[str]:
        """What is wrong with the mapping for dimensions of these sizes, a sentence each; nothing for a legal one."""
        if not self.levels:
            yield "a mapping needs at least one level"
        given = dict(sizes)
        for number, level in enumerate(self.levels):
            if level.fanout < 1:
                yield f"level {number} has {level.fanout} sub-clusters, expected at least 1"
            names = [loop.dim for loop in level.loops]
            for dim in sorted({d for d in names if names.count(d) > 1}):
                yield f"level {number} has {dim} twice"
            for loop in level.loops:
                if loop.dim not in sizes:
                    yield f"unknown dimension '{loop.dim}' at level {number}, the nest has {', '.join(sizes)}"
                    continue
                if loop.spatial < 1 or loop.temporal < 1:
                    yield f"tiles of {loop.dim} at level {number} must be at least 1, got {loop}"
                    return
                if loop.spatial > loop.temporal:
                    yield f"a sub-cluster of level {number} gets {loop.spatial} of {loop.dim}, of {loop.temporal}"
                if loop.temporal > given[loop.dim]:
                    yield (
                        f"a step of level {number} takes {loop.temporal} of {loop.dim}, "
                        f"the level is given {given[loop.dim]}"
                    )
                given[loop.dim] = loop.spatial
            if level.parts > level.fanout:
                yield f"a step of level {number} is for {level.parts} sub-clusters, the level has {level.fanout}"
