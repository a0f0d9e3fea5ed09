"""
From directives to cluster form and back, exactly: the same points on the same processing elements in the same steps.

    SpatialMap(1, 1) K, TemporalMap(Sz(R), 1) Y, Cluster(4), SpatialMap(2, 2) C      on 16 processing elements
    4 [o : 4 / 1, y : 1], 4 [i : 8 / 2]

Cluster form cuts dimensions; directives can do more (windows that overlap, tiles that move together) and less (one
dimension side by side at a level, whole taps). What the other form has no words for is said in a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping as Named
from dataclasses import dataclass, field, replace
from math import prod

from npuc.compiler.analysis.mapping.coverage import coverage
from npuc.compiler.analysis.mapping.walk import Along, Floor, pace, plan_of
from npuc.dialects.mapping import Cluster, ClusterLevel, Clusters, Directive, KindName, Map, Mapping, Problem, TileLoop
from npuc.dialects.mapping.directives import MOST_CLUSTERS
from npuc.dialects.mapping.problem import SLIDES
from npuc.dialects.npu.mapped import Layout, layout_of, layouts
from npuc.dialects.npu.nest import Nest

_WINDOWS = {window: dim for dim, window in SLIDES.items()}


class _NoWords(Exception):
    """A mapping that the other form cannot express."""


def normal(clusters: Clusters, sizes: Named[str, int]) -> Clusters:
    """A mapping in cluster form without the loops that do nothing, for a nest with dimensions of these sizes."""
    given = dict(sizes)
    levels: list[ClusterLevel] = []
    for level in clusters.levels:
        kept = tuple(loop for loop in level.loops if loop.spatial < given[loop.dim])
        given |= {loop.dim: loop.spatial for loop in kept}
        levels.append(replace(level, loops=kept))
    return Clusters(tuple(levels))


def to_clusters(mapping: Mapping, nest: Nest, num_pes: int) -> Clusters | str:
    """The cluster form of a mapping on so many processing elements, without idle loops; a sentence if there is none."""
    layout = layout_of(nest, mapping.problem)
    return layout if isinstance(layout, str) else _clusters(mapping, num_pes, _blocks(layout, nest))


def layer_clusters(mapping: Mapping, num_pes: int) -> Clusters | str:
    """The same on the dimensions of the layer itself, of which Y and X are those of its output."""
    sizes = {dim: mapping.problem.outputs(dim) for dim in mapping.problem.named}
    return _clusters(mapping, num_pes, {dim: [(dim, size)] if size > 1 else [] for dim, size in sizes.items()})


def _clusters(mapping: Mapping, num_pes: int, blocks: dict[str, list[tuple[str, int]]]) -> Clusters | str:
    wrong = coverage(mapping, num_pes)
    if wrong:
        return wrong[0]
    plan = plan_of(mapping, num_pes)
    reader = _Reader(mapping.problem, dict(plan.given), blocks)
    try:
        return Clusters(tuple(reader.level(floor) for floor in plan.floors))
    except _NoWords as e:
        return str(e)


def _blocks(layout: Layout, nest: Nest) -> dict[str, list[tuple[str, int]]]:
    """The dimensions of the nest that each dimension of the layer stands for, with their sizes; none of size 1."""
    return {dim: [(d, nest.sizes[d]) for d in own if nest.sizes[d] > 1] for dim, own in layout.dims}


@dataclass
class _Reader:
    """Reads levels of directives from the top; `given` and `blocks` are what the next one is given."""

    problem: Problem
    given: dict[str, int]
    blocks: dict[str, list[tuple[str, int]]]
    spread: set[str] = field(default_factory=set[str])
    """Input dimensions of which all rows are given with a part of the taps."""

    def level(self, floor: Floor) -> ClusterLevel:
        """The cluster form of a level."""
        along = {a.dim: a for a in floor.along}
        tied = {a.dim for a in floor.together if a.tiles(self.given[a.dim]) > 1}
        pair = next((dim for dim, window in SLIDES.items() if self.problem.slides and tied == {dim, window}), None)
        if tied and pair is None:
            names = " and ".join(a.dim for a in floor.together)
            raise _NoWords(f"{names} move together, which cluster form has no words for")
        loops: list[TileLoop] = []
        for a in floor.along:
            if self.problem.slides and a.dim in SLIDES:
                loops += self._windows(a, along[SLIDES[a.dim]], pair == a.dim)
            elif self.problem.slides and a.dim in _WINDOWS:
                loops += self._taps(a, along[_WINDOWS[a.dim]], pair == _WINDOWS[a.dim])
            else:
                if a.size != a.apart and a.tiles(self.given[a.dim]) > 1:
                    raise _NoWords(f"tiles of {a.size} of {a.dim} are {a.apart} apart")
                loops += self._cut(a.dim, a.size, a.parts)
        for a in floor.along:
            self.given[a.dim] = min(a.size, self.given[a.dim])
        return ClusterLevel(floor.width, tuple(loops))

    def _cut(self, dim: str, tile: int, parts: int) -> list[TileLoop]:
        """Tiles of a dimension of the layer as loops of the nest, `parts` side by side."""
        block = self.blocks.get(dim, [])
        inner = 1
        for place in range(len(block) - 1, -1, -1):
            name, extent = block[place]
            if tile < inner * extent:
                size, outer = tile // inner, block[:place]
                step = min(parts * size, extent)
                crosses = bool(outer) and (extent % step > 0 or step % size > 0 or step < parts * size)
                if tile % inner or crosses:
                    names = " x ".join(d for d, _ in block)
                    side = f", {parts} side by side," if parts > 1 else ""
                    raise _NoWords(f"tiles of {tile} of {dim}{side} are no tiles of {names}")
                self.blocks[dim] = [*([(name, size)] if size > 1 else []), *block[place + 1 :]]
                return [*(TileLoop(d, 1, 1) for d, _ in outer), TileLoop(name, step, size)]
            inner *= extent
        return []

    def _windows(self, a: Along, taps: Along, pair: bool) -> list[TileLoop]:
        """Tiles of rows as loops over positions."""
        if pair or a.size >= self.given[a.dim]:  # of a pair the taps say what the rows do
            return []
        if a.dim in self.spread or taps.size < self.given[taps.dim]:
            raise _NoWords(f"rows of {a.dim} are cut where {taps.dim} is: tap by tap other positions")
        step = pace(self.problem, a.dim)
        count = (a.size - self.given[taps.dim]) // step + 1
        if count < 1:
            raise _NoWords(f"tiles of {a.size} of {a.dim} hold no window of {self.given[taps.dim]}")
        if a.apart != count * step:
            raise _NoWords(f"tiles of {count} positions of {a.dim} are {a.apart} rows apart, of {step} each")
        if self._unread(a.dim, taps) > a.size - (count - 1) * step - self.given[taps.dim]:
            raise _NoWords(f"tiles of {a.size} of {a.dim} go on after the last window of {self.given[a.dim]} rows")
        return self._cut(a.dim, count, a.parts)

    def _unread(self, dim: str, taps: Along) -> int:
        """The rows that a level is given after those of its last window: fewer than to the next one."""
        positions = prod(size for _, size in self.blocks[dim])
        return self.given[dim] - (positions - 1) * pace(self.problem, dim) - self.given[taps.dim]

    def _taps(self, a: Along, rows: Along, pair: bool) -> list[TileLoop]:
        """Tiles of taps as loops."""
        if a.size >= self.given[a.dim]:
            return []
        positions = prod(size for _, size in self.blocks[rows.dim])
        if pair:
            whole = (positions - 1) * pace(self.problem, rows.dim) + a.size
            once = a.steps(self.given[a.dim]) == rows.steps(self.given[rows.dim]) == 1
            if not (once and a.size == a.apart == rows.apart and rows.size == whole):
                raise _NoWords(f"{rows.dim} and {a.dim} move together, but not tap by tap")
        else:
            if positions < self.problem.outputs(rows.dim) or rows.size < self.given[rows.dim] or a.size != a.apart:
                raise _NoWords(f"{a.dim} is cut without {rows.dim}: tap by tap other positions")
            self.spread.add(rows.dim)
        return self._cut(a.dim, a.size, a.parts)


def to_maestro(clusters: Clusters, nest: Nest, kind: KindName | None = None) -> Mapping | str:
    """
    The directives, on as many processing elements as it has, of a mapping in cluster form for a nest.

    For a layer of this kind, else for the first that the nest is. A sentence if there are none.
    """
    wrong = next(clusters.problems(nest.sizes), None)
    if wrong is not None:
        return wrong
    found = next((one for one in layouts(nest) if kind in (None, one.kind)), None)
    if found is None:
        return f"the nest is no {kind or 'layer'} in the terms of directives"
    if len(clusters.levels) > MOST_CLUSTERS + 1:
        return f"it has {len(clusters.levels)} levels, directives have at most {MOST_CLUSTERS + 1}"
    problem = found.problem(nest)
    writer = _Writer(problem, dict(found.dims), dict(nest.sizes), dict(nest.sizes))
    directives: list[Directive] = []
    try:
        for number, level in enumerate(normal(clusters, nest.sizes).levels):
            if number:
                directives.append(Cluster(level.fanout))
            directives += writer.level(number, level)
    except _NoWords as e:
        return str(e)
    return Mapping(problem, tuple(directives))


@dataclass
class _Writer:
    """Writes levels of cluster form as directives; `given` is what the next level is given of the nest."""

    problem: Problem
    stands: dict[str, tuple[str, ...]]
    sizes: dict[str, int]
    given: dict[str, int]
    cut: set[str] = field(default_factory=set[str])
    """Window dimensions whose taps are cut above."""

    def level(self, number: int, level: ClusterLevel) -> list[Map]:
        """The maps of a level."""
        shared = [loop.dim for loop in level.loops if loop.parts > 1]
        if len(shared) > 1:
            raise _NoWords(f"level {number} spreads {' and '.join(shared)}, directives one dimension of a level")
        maps: list[Map] = []
        for loop in level.loops:
            if loop.parts > 1 and loop.temporal not in (level.fanout * loop.spatial, self.given[loop.dim]):
                raise _NoWords(f"a step of level {number} takes {loop}, and leaves sub-clusters without work")
            maps += self._maps(loop, {one.dim for one in level.loops})
        if not any(one.spatial for one in maps):
            maps = self._made_spatial(number, level, maps)
        self.given |= {loop.dim: loop.spatial for loop in level.loops}
        written = {one.dim for one in maps}
        for dim, window in SLIDES.items() if self.problem.slides else ():
            gaps = self.problem.stride[dim] > self.problem.sizes[window]
            if gaps and dim not in written and not (window in self.cut and self._extent(dim) == 1):
                maps.append(self._rows(dim, self._extent(dim), spatial=False))
        return maps

    def _named(self, dim: str) -> str:
        """The dimension of the layer that stands for one of the nest alone."""
        name = next(name for name, own in self.stands.items() if dim in own)
        own = [d for d in self.stands[name] if self.sizes[d] > 1]
        if len(own) > 1:
            raise _NoWords(f"{name} stands for {' x '.join(own)}: tiles of {dim} are no tiles of it")
        return name

    def _extent(self, name: str) -> int:
        """What a level is given of a dimension of the layer, Y and X in positions."""
        return prod(self.given[d] for d in self.stands[name])

    def _rows(self, dim: str, positions: int, *, spatial: bool) -> Map:
        """The map of the rows of so many positions."""
        stride, window = self.problem.stride[dim], self.problem.sizes[SLIDES[dim]]
        return Map(dim, (positions - 1) * stride + window, positions * stride, spatial)

    def _maps(self, loop: TileLoop, here: set[str]) -> list[Map]:
        name, spatial = self._named(loop.dim), loop.parts > 1
        if self.problem.slides and name in SLIDES:
            if SLIDES[name] in self.cut or here & set(self.stands[SLIDES[name]]):
                raise _NoWords(f"{loop.dim} is cut where {SLIDES[name]} is: directives cut rows, not positions")
            return [self._rows(name, loop.spatial, spatial=spatial)]
        if self.problem.slides and name in _WINDOWS:
            if loop.parts == 1 or loop.temporal < self.given[loop.dim]:
                raise _NoWords(f"{loop.dim} is cut in steps: a temporal map of {name} must be whole")
            rows = _WINDOWS[name]
            positions, whole = self._extent(rows), self.problem.outputs(rows)
            self.cut.add(name)
            own = Map(name, loop.spatial, loop.spatial, spatial=True)
            if positions == 1:
                return [Map(rows, loop.spatial, loop.spatial, spatial=True), own]
            if positions == whole:
                return [own]
            raise _NoWords(f"{loop.dim} is spread over sub-clusters that have several of {rows}': whole rows")
        return [Map(name, loop.spatial, loop.spatial, spatial)]

    def _made_spatial(self, number: int, level: ClusterLevel, maps: list[Map]) -> list[Map]:
        """The maps of a level where nothing is side by side, with a spatial one of a dimension that is whole."""
        if level.fanout == 1 and maps:
            return [replace(maps[0], spatial=True), *maps[1:]]
        written = {one.dim for one in maps}
        for dim in self.problem.named:
            if dim in written or (self.problem.slides and dim in (*SLIDES, *_WINDOWS)):
                continue
            extent = self._extent(dim)
            return [*maps, Map(dim, extent, extent, spatial=True)]
        for window, dim in _WINDOWS.items() if self.problem.slides else ():
            if window not in self.cut and window not in written:
                return [*maps, Map(window, self.problem.sizes[window], self.problem.sizes[window], spatial=True)]
            if dim not in written and window not in self.cut:
                return [*maps, self._rows(dim, self._extent(dim), spatial=True)]
        raise _NoWords(f"level {number} has no dimension that is whole and could be its spatial map")
