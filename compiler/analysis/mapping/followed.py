"""
Which mappings a systolic array with a scratchpad can follow, and the schedule that does what they say.

A scheduled array takes tiles of the scratchpad one after another, and in each of them its folds. So it follows

    1 [m : 256, n : 512], 16384 [m : 128 / 1, n : 128 / 1, k : 1]        loops [m : 256, n : 512]
    16384 [m : 128 / 1, n : 128 / 1, k : 1]                              loops [m : 128, n : 128]

the former with tiles of whole folds, the latter with a fold a tile (here on an array of 128 x 128 whose outputs are
stationary). The rest is no choice of the array: which two dimensions lie over rows and columns, one element of each in
a processing element, and that the third one streams innermost.
"""

from __future__ import annotations

from npuc.compiler.analysis.machine.array import PLACES, Array
from npuc.compiler.analysis.mapping.convert import normal, to_clusters
from npuc.dialects.mapping import ClusterLevel, Clusters, Mapping, TileLoop
from npuc.dialects.npu.gemm import gemm_view
from npuc.dialects.npu.nest import Loop, Nest, Schedule

Sizes = dict[str, int]


def followed_schedule(mapping: Clusters | Mapping, nest: Nest, array: Array, cores: int = 1) -> Schedule | str:
    """
    The schedule that does what a mapping of a nest says on an array, or, as a predicate of the mapping, why none does.

    Nothing is kept beyond a tile. Whether the tiles fit into the scratchpad is not looked at.
    """
    if array.dataflow not in PLACES or array.overlap is not None:
        kind = "feeds its registers by instructions" if array.overlap is not None else "has rows of filters stationary"
        return f"is for an array that streams operands, and this one {kind}"
    if cores > 1:
        return f"is for one array, and this machine has {cores}"
    if len(nest.statements) > 1:
        return "is for several products at once, of which the array computes one"
    places = _places(nest, array)
    if isinstance(places, str):
        return places
    clusters = mapping if isinstance(mapping, Clusters) else to_clusters(mapping, nest, array.elements)
    if isinstance(clusters, str):
        return f"is no nest of cuts: {clusters}"
    levels = list(normal(clusters, nest.sizes).levels)
    while len(levels) > 1 and not levels[-1].loops:
        levels.pop()
    outer, inner = levels[:-1], levels[-1]
    if len(outer) > 1:
        return f"has {len(levels)} levels, and the machine two: the scratchpad and the array"
    given = dict(nest.sizes)
    loops = list[Loop]()
    for loop in outer[0].loops if outer else ():
        if loop.parts > 1:
            return f"spreads {loop.dim} over clusters, and the machine has one array"
        loops.append(Loop(loop.dim, loop.temporal))
        given[loop.dim] = loop.temporal
    wrong = _wrong_folds(inner, given, places, array) or _wrong_tiles(loops, nest.sizes, places, array)
    if wrong is not None:
        return wrong
    if not outer:
        steps = {dim: loop.temporal for dim, loop in _loops(inner).items()}
        loops = [Loop(one.dim, steps[one.dim]) for one in inner.loops if one.dim != places[2]]
        loops = [loop for loop in loops if loop.step < nest.sizes[loop.dim]]
    return Schedule(tuple(loops))


def _places(nest: Nest, array: Array) -> tuple[str, str, str] | str:
    """The dimensions over rows, over columns, and streamed; or why the nest is no single product."""
    view = gemm_view(nest, nest.statements[0])
    if any(nest.sizes[dim] > 1 for dim in view.batch):
        return "is for a product with a batch, of which the array computes one after another"
    found: dict[str, str] = {}
    for group, dims in (("m", view.m), ("n", view.n), ("k", view.k)):
        large = [dim for dim in dims if nest.sizes[dim] > 1]
        if len(large) > 1:
            what = {"m": "rows", "n": "columns", "k": "sums"}[group]
            return (
                f"is for a product whose {what} are {', '.join(large[:-1])} and {large[-1]}, and the array has one "
                "dimension of each (lower-to-npu{conv=im2col} makes them one)"
            )
        found[group] = (large or list(dims) or [""])[0]
    rows, cols, streamed = PLACES[array.dataflow]
    return found[rows], found[cols], found[streamed]


def _loops(level: ClusterLevel) -> dict[str, TileLoop]:
    return {loop.dim: loop for loop in level.loops}


def _wrong_folds(level: ClusterLevel, given: Sizes, places: tuple[str, str, str], array: Array) -> str | None:
    """Why a level is not what the array does in each fold; None where it is."""
    known, streamed = _loops(level), places[2]
    for dim, size in given.items():
        loop = known.get(dim, TileLoop(dim, size, size))
        if size == 1:
            continue
        if dim == streamed:
            if loop.temporal != 1:
                return f"has {loop.temporal} of {dim} in a step, which the array streams one by one"
            continue
        side = array.rows if dim == places[0] else array.cols
        where = "rows" if dim == places[0] else "columns"
        if loop.spatial != 1:
            return f"gives a processing element {loop.spatial} of {dim}, and the array has one over its {where}"
        if loop.temporal != min(side, size):
            return f"spreads {loop.temporal} of {dim}, and a fold has {min(side, size)} over the array's {where}"
    moving = [loop.dim for loop in level.loops if loop.temporal < given[loop.dim]]
    if moving and given.get(streamed, 1) > 1 and moving[-1] != streamed:
        return f"has {moving[-1]} innermost, and the array streams {streamed} in each fold"
    return None


def _wrong_tiles(loops: list[Loop], sizes: Sizes, places: tuple[str, str, str], array: Array) -> str | None:
    """Why tiles are no whole folds; None where they are."""
    for loop in loops:
        side = {places[0]: array.rows, places[1]: array.cols}.get(loop.dim, 1)
        if loop.step % side and loop.step != sizes[loop.dim]:
            return f"has tiles of {loop.step} of {loop.dim}, which are no whole folds of {side}"
    return None
