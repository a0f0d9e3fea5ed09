"""
What a mapping means: which processing element computes which points of the layer, in which step.

Both forms become the same levels of tiles. Temporal tile p of a dimension begins p offsets into what the level was
given; of a spatial one, sub-cluster j of fold f has tile f n + j, n the width of the level. The tiles of a level end
with the first that reaches the end of what it was given, and are clipped there. Two spatial maps of a level move
together: j is the same for both, their folds are loops of their own.

A processing element computes the points whose taps r are in its range of R and whose rows y stride + r are in its
range of Y for all taps of the range: part of a window is nothing. Where the stride is larger than the window, rows
that no window reads are left out, so that windows lie side by side. Rows after the last window are never walked.

All sub-clusters of a level begin a step together, when the slowest has ended the one before.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from collections.abc import Mapping as Named
from itertools import product
from typing import TypeAlias

from npuc.compiler.analysis.mapping.levels import resolve
from npuc.compiler.core.frozen import frozen
from npuc.dialects.mapping import Clusters, Mapping, Problem
from npuc.dialects.mapping.problem import SLIDES

Ranges: TypeAlias = dict[str, tuple[int, int]]
"""First index and one past the last of each dimension."""


@frozen
class Along:
    """
    The tiles of a dimension at a level: of `size`, `apart`, of which the sub-clusters do `parts` side by side in a
    step.

    Sub-cluster j has part j // `every` modulo `parts`. With `span` the parts of a step share so many elements, and the
    next step begins after them.
    """

    dim: str
    size: int
    apart: int
    parts: int = 1
    every: int = 1
    span: int | None = None

    def tiles(self, length: int) -> int:
        """The number of tiles in so many elements."""
        return 1 + max(0, -(-(length - self.size) // self.apart))

    def steps(self, length: int) -> int:
        """The number of steps for so many elements."""
        return -(-length // self.span) if self.span is not None else -(-self.tiles(length) // self.parts)

    def tile(self, length: int, step: int, sub_cluster: int) -> tuple[int, int] | None:
        """Where a sub-cluster's tile begins in so many elements, and its length; None where it has none."""
        part = sub_cluster // self.every % self.parts
        if self.span is not None:
            low, size = step * self.span + part * self.apart, min(self.size, self.span - part * self.apart)
        elif step * self.parts + part < self.tiles(length):
            low, size = (step * self.parts + part) * self.apart, self.size
        else:
            return None
        size = min(size, length - low)
        return (low, size) if size > 0 else None


@frozen
class Floor:
    """A level: its width, the number of sub-clusters that a step may keep busy, its tiles, outermost loop first."""

    width: int
    busy: int
    along: tuple[Along, ...]

    @property
    def together(self) -> tuple[Along, ...]:
        """Two spatial maps that move together."""
        spatial = tuple(a for a in self.along if a.parts > 1 and a.span is None)
        return spatial if len(spatial) > 1 else ()


@frozen
class LevelPlan:
    """The levels of a mapping from the top, and the size of each dimension that the first is given."""

    given: tuple[tuple[str, int], ...]
    floors: tuple[Floor, ...]


@frozen
class Leaf:
    """What a processing element has in a step: its range of each dimension, Y and X in rows and columns."""

    step: int
    element: int
    ranges: Ranges


def pace(problem: Problem, dim: str) -> int:
    """How many rows (columns) a window is after the one before, those left out that no window reads."""
    return min(problem.stride[dim], problem.sizes[SLIDES[dim]])


def plan_of(mapping: Mapping, num_pes: int) -> LevelPlan:
    """The levels of a mapping by directives on so many processing elements. Raises `Unmappable`."""
    problem = mapping.problem
    floors: list[Floor] = []
    for number, level in enumerate(resolve(mapping, num_pes)):
        along: list[Along] = []
        for t in level.tiles:
            offset = t.offset
            if number == 0 and problem.slides and t.dim in SLIDES and t.size >= problem.sizes[SLIDES[t.dim]]:
                offset = offset * pace(problem, t.dim) // problem.stride[t.dim]
            along.append(Along(t.dim, t.size, offset, level.width if t.spatial else 1))
        floors.append(Floor(level.width, level.width, tuple(along)))
    given = dict(problem.dims)
    for dim, window in SLIDES.items() if problem.slides else ():
        given[dim] = (problem.outputs(dim) - 1) * pace(problem, dim) + problem.sizes[window]
    dims = [a.dim for a in floors[0].along]
    return LevelPlan(tuple((dim, given[dim]) for dim in dims), tuple(floors))


def plan_of_clusters(clusters: Clusters, sizes: Named[str, int]) -> LevelPlan:
    """The levels of a right mapping in cluster form, for a nest with dimensions of these sizes."""
    floors: list[Floor] = []
    for level in clusters.levels:
        every, along = 1, list[Along]()
        for loop in reversed(level.loops):
            along.append(Along(loop.dim, loop.spatial, loop.spatial, loop.parts, every, loop.temporal))
            every *= loop.parts
        floors.append(Floor(level.fanout, every, tuple(reversed(along))))
    return LevelPlan(tuple(sizes.items()), tuple(floors))


def leaves(plan: LevelPlan) -> Iterator[Leaf]:
    """
    All that processing elements do, one step of one element at a time; those of an element in the order of steps.

    Meant for layers of few points: it visits every step.
    """
    whole = {dim: (0, size) for dim, size in plan.given}
    yield from _walk(plan.floors, 0, whole, 0, 0)


def _walk(floors: tuple[Floor, ...], depth: int, given: Ranges, element: int, start: int) -> Generator[Leaf, None, int]:
    """What is done inside a sub-cluster that is given these ranges at a step; returns the step after its last."""
    if depth == len(floors):
        yield Leaf(start, element, given)
        return start + 1
    floor = floors[depth]
    lengths = {dim: high - low for dim, (low, high) in given.items()}
    for step in product(*(range(a.steps(lengths[a.dim])) for a in floor.along)):
        end = start
        for j in range(floor.busy):
            tiles = [a.tile(lengths[a.dim], n, j) for a, n in zip(floor.along, step, strict=True)]
            inside = dict(given)
            for a, tile in zip(floor.along, tiles, strict=True):
                if tile is None:
                    break
                low = given[a.dim][0] + tile[0]
                inside[a.dim] = (low, low + tile[1])
            else:
                end = max(end, (yield from _walk(floors, depth + 1, inside, element * floor.width + j, start)))
        start = end
    return start


def computed(problem: Problem, ranges: Ranges) -> Ranges | None:
    """The points that a leaf computes, Y and X as positions of the output; None if it computes nothing."""
    found = dict(ranges)
    for dim, window in SLIDES.items() if problem.slides else ():
        (y0, y1), (r0, r1), apart = ranges[dim], ranges[window], pace(problem, dim)
        low, high = max(0, -(-(y0 - r0) // apart)), min(problem.outputs(dim), (y1 - r1) // apart + 1)
        if low >= high:
            return None
        found[dim] = (low, high)
    return found
