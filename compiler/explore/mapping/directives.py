"""Candidates as directives: a space of the layer's own dimensions, Y and X in positions of the output."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.batch.arrays import Mappings
from npuc.compiler.analysis.mapping.exact.arrays import Floats
from npuc.compiler.explore.mapping.candidates import Candidates
from npuc.compiler.explore.mapping.space import MapSpace, fanouts_of
from npuc.dialects.mapping import Problem
from npuc.dialects.mapping.problem import SLIDES


def directive_space(problem: Problem, num_pes: int, levels: int = 2, *, divisors: bool = True) -> MapSpace:
    """The space of a layer: taps are whole, each level spreads one dimension."""
    dims = tuple((dim, problem.outputs(dim)) for dim in problem.named)
    whole = frozenset(SLIDES.values()) if problem.slides else frozenset[str]()
    return MapSpace(dims, fanouts_of(num_pes, levels), 1, divisors, whole)


def as_directives(problem: Problem, candidates: Candidates) -> Mappings:
    """Candidates of a layer's space as equivalent directives: tiles of Y and X are the rows of so many windows."""
    given = np.array([[float(problem.outputs(dim))] for dim in problem.named])
    columns: list[tuple[NDArray[Any], ...]] = []
    for level in candidates.levels:
        size, offset = _extents(problem, level.spatial)
        spread = level.temporal > level.spatial
        # Where nothing is side by side, the spatial map that a level must have is one of a dimension that is whole.
        score = 2 * spread + (level.spatial >= given)
        spatial = np.zeros(spread.shape, bool)
        np.put_along_axis(spatial, score.argmax(axis=0)[None], True, axis=0)
        arrays = (size, offset, spatial)
        columns.append((level.order.T, *(np.take_along_axis(array, level.order, axis=0).T for array in arrays)))
        given = level.spatial
    dim, size, offset, spatial = (np.stack(arrays, axis=1) for arrays in zip(*columns, strict=True))
    return Mappings(dim, size.astype(np.int64), offset.astype(np.int64), spatial, candidates.fanouts[1:].T)


def _extents(problem: Problem, tiles: Floats) -> tuple[Floats, Floats]:
    """The sizes and offsets of maps with these tiles."""
    size, offset = tiles.copy(), tiles.copy()
    for dim, window in SLIDES.items() if problem.slides else ():
        row, stride = problem.named.index(dim), problem.stride[dim]
        size[row] = (tiles[row] - 1) * stride + problem.sizes[window]
        offset[row] = tiles[row] * stride
    return size, offset
