"""A dataflow as directives for a layer in MAESTRO's terms, as its mapping files write it."""

from __future__ import annotations

from functools import lru_cache

from npuc.compiler.analysis.mapping.named.templates import Template, TemplateMap
from npuc.dialects.mapping import Cluster, Directive, Extent, Map, Mapping, Problem, Sz
from npuc.dialects.mapping.problem import SLIDES
from npuc.dialects.npu.mapped import layouts
from npuc.dialects.npu.nest import Nest

_PRODUCT = {"K": "N", "C": "K", "Y": "M", "X": "M"}
"""What the dimensions of a dataflow are in a product."""


@lru_cache(maxsize=4096)
def named_mapping(template: Template, nest: Nest, num_pes: int) -> Mapping | None:
    """
    A dataflow by directives for the layer that a nest is; None if it is none.

    A convolution is one, any other product, gradients among them, a GEMM; one with a batch is a grouped convolution of
    one tap, whose rows stand for what the dataflow spreads.
    """
    found = layouts(nest)
    for layout in found:
        positions = layout.strides and any(stride is not None for _, stride in layout.strides)
        rows = dict(layout.dims).get(template.rows)
        if positions or layout.kind == "GEMM" or rows or layout is found[-1]:
            return mapping_for(template, layout.problem(nest), num_pes)
    return None


def mapping_for(template: Template, problem: Problem, num_pes: int) -> Mapping:
    """
    A dataflow by directives for a layer, on so many processing elements.

    Clusters are as large as the dataflow has them, or as the machine where that is smaller.
    """
    depthwise = problem.kind == "DSCONV"
    cluster = min(template.cluster, num_pes)
    levels = [_level(problem, parts, cluster) for parts in template.levels(depthwise=depthwise)]
    for dim in ("N", "G") if problem.slides else ():
        if problem.sizes.get(dim, 1) > 1 or (dim == "G" and dim in problem.coupled("I")):
            place = 0 if dim == "G" else next(n for n, one in enumerate(levels[0]) if one.dim[0] in SLIDES)
            levels[0].insert(place, Map(dim, 1, 1))
    directives: list[Directive] = list(levels[0])
    left = num_pes
    for text, level in zip(template.clusters(depthwise=depthwise), levels[1:], strict=True):
        size: Extent = cluster if text == "c" else Sz(text) if problem.slides else 1
        needed = problem.sizes[size.dim] if isinstance(size, Sz) else size
        directives += [Cluster(size if needed <= left else left), *level]
        left //= min(needed, left)
    return Mapping(problem, tuple(directives))


def _level(problem: Problem, parts: tuple[TemplateMap, ...], cluster: int) -> list[Map]:
    if problem.slides:
        own = [part for part in parts if part.name in problem.named]
        return [_windowed(problem, part, cluster) for part in own]
    found: dict[str, Map] = {}
    for part in parts:
        dim = _PRODUCT.get(part.name)
        if dim is None:
            continue
        tile, before = part.elements(cluster), found.get(dim)
        size: Extent = Sz(dim) if tile is None else tile
        spatial = part.spatial
        if before is not None:  # rows, which Y and X stand for together
            size = before.size * tile if isinstance(before.size, int) and tile is not None else Sz(dim)
            spatial |= before.spatial
        found[dim] = Map(dim, size, size, spatial)
    return list(found.values())


def _windowed(problem: Problem, part: TemplateMap, cluster: int) -> Map:
    """A map of a layer in which windows slide: tiles of Y and X are windows of so many positions side by side."""
    tile, dim = part.elements(cluster), part.name
    if tile is None:
        return Map(dim, Sz(dim), Sz(dim), part.spatial)
    if part.dim not in SLIDES:  # output rows, single input rows, and all else
        return Map(dim if part.dim.islower() else part.dim, tile, tile, part.spatial)
    window = SLIDES[dim]
    size: Extent = Sz(window) if tile == 1 else problem.sizes[window] + tile - 1
    return Map(dim, size, tile, part.spatial)
