"""A dataflow for a nest in cluster form: the same loops on the nest's own dimensions, each point once."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from npuc.compiler.analysis.mapping.named.roles import Roles, roles_of
from npuc.compiler.analysis.mapping.named.templates import Template, TemplateMap
from npuc.dialects.mapping import ClusterLevel, Clusters, TileLoop
from npuc.dialects.npu.nest import Nest, Statement


@lru_cache(maxsize=4096)
def named_clusters(template: Template, nest: Nest, statement: Statement, num_pes: int) -> Clusters:
    """
    The cluster form of a dataflow for a statement of a nest.

    Clusters are as large as the dataflow has them, or as the machine where that is smaller.
    """
    roles = roles_of(nest, statement)
    sizes = _cluster_sizes(template, roles, nest, num_pes)
    fanouts = (num_pes // prod(sizes), *sizes)
    given = dict(nest.sizes)
    levels: list[ClusterLevel] = []
    tile = min(template.cluster, num_pes)
    for number, parts in enumerate(template.levels(depthwise=roles.depthwise)):
        maps = _with_outer(parts, roles) if number == 0 else list(parts)
        loops = _loops(maps, roles, given, fanouts[number], tile)
        levels.append(ClusterLevel(fanouts[number], loops))
        given |= {loop.dim: loop.spatial for loop in loops}
    return Clusters(tuple(levels))


def spread_dims(template: Template, nest: Nest, statement: Statement) -> tuple[tuple[str, ...], ...]:
    """The dimensions that each level of a dataflow spreads, in the order in which they take its sub-clusters."""
    roles = roles_of(nest, statement)
    found: list[tuple[str, ...]] = []
    for number, parts in enumerate(template.levels(depthwise=roles.depthwise)):
        maps = _with_outer(parts, roles) if number == 0 else list(parts)
        merged = _merged(maps, roles, template.cluster)
        found.append(tuple(dim for dims, _, spatial in merged if spatial for dim in reversed(dims)))
    return tuple(found)


def _cluster_sizes(template: Template, roles: Roles, nest: Nest, num_pes: int) -> list[int]:
    found: list[int] = []
    left = num_pes
    for text in template.clusters(depthwise=roles.depthwise):
        wanted = template.cluster if text == "c" else prod(nest.sizes[d] for d in roles.of(text))
        found.append(min(wanted, left))
        left //= found[-1]
    return found


def _with_outer(parts: tuple[TemplateMap, ...], roles: Roles) -> list[TemplateMap]:
    """The maps of the top level with groups outermost and images before their rows."""
    maps = list(parts)
    place = min(n for n, part in enumerate(maps) if part.name in "YX")
    if roles.of("N"):
        maps.insert(place, TemplateMap("N", "1", spatial=False))
    if roles.of("G"):
        maps.insert(0, TemplateMap("G", "1", spatial=False))
    return maps


def _loops(
    maps: list[TemplateMap], roles: Roles, given: dict[str, int], fanout: int, cluster: int
) -> tuple[TileLoop, ...]:
    """The loops of a level; sub-clusters go to the first spatial map, what it leaves to the next."""
    loops: dict[str, TileLoop] = {}
    left = fanout
    for dims, tile, spatial in _merged(maps, roles, cluster):
        space = tile if tile is not None else prod(given[d] for d in dims)
        own: list[TileLoop] = []
        for dim in reversed(dims):
            each = min(given[dim], max(space, 1))
            space //= each
            side = min(left, -(-given[dim] // each)) if spatial else 1
            left //= side
            own.append(TileLoop(dim, min(side * each, given[dim]), each))
        loops |= {loop.dim: loop for loop in reversed(own)}
    return tuple(loops.values())


def _merged(maps: list[TemplateMap], roles: Roles, cluster: int) -> list[tuple[tuple[str, ...], int | None, bool]]:
    """
    The dimensions, tiles and kinds of a level's maps; None is a whole dimension.

    Rows of a product are Y and X in one: a tile of both, spread if one of them is.
    """
    found: list[tuple[tuple[str, ...], int | None, bool]] = []
    rows: int | None = None
    for part in maps:
        tile = part.elements(cluster)
        name = part.name
        if not roles.rows or name not in "YX":
            if dims := roles.of(name):
                found.append((dims, tile, part.spatial))
        elif rows is None:
            rows = len(found)
            found.append((roles.rows, tile, part.spatial))
        else:
            _, before, spread = found[rows]
            found[rows] = (roles.rows, (before or 1) * (tile or 1), spread or part.spatial)
    return found
