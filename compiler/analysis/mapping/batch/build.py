"""Arrays from mappings one by one, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npuc.compiler.analysis.mapping.batch.arrays import Mappings
from npuc.dialects.mapping import Cluster, Directive, Map, Mapping, Problem
from npuc.dialects.mapping.problem import SLIDES


def mapping_arrays(mappings: Sequence[Mapping]) -> Mappings:
    """
    Mappings of one layer with equally many levels as arrays: `Sz(DIM)` in numbers, X' and Y' as X and Y.

    A map of X' (Y') needs one of S (R) at its level. Raises `ValueError` for mappings that do not fit together.
    """
    problem, depths = mappings[0].problem, {len(m.levels) for m in mappings}
    if len(depths) > 1 or any(m.problem != problem for m in mappings):
        raise ValueError("mappings of one call must be of one layer and have equally many levels")
    widest = max(len(level) for m in mappings for level in m.levels)
    shape = (len(mappings), depths.pop(), widest)
    found = Mappings(
        dim=np.full(shape, -1, np.int64),
        size=np.ones(shape, np.int64),
        offset=np.ones(shape, np.int64),
        spatial=np.zeros(shape, bool),
        cluster=np.array([m.clusters for m in mappings], np.int64).reshape(shape[0], shape[1] - 1),
    )
    for row, mapping in enumerate(mappings):
        for number, level in enumerate(mapping.levels):
            written = {m.dim: mapping.extent(m.size) for m in level}
            for slot, m in enumerate(level):
                dim, size = m.dim, mapping.extent(m.size)
                if dim.endswith("'"):
                    dim = dim[0]
                    if SLIDES[dim] not in written:
                        raise ValueError(f"{m} needs a map of {SLIDES[dim]} at the same level")
                    size += written[SLIDES[dim]] - 1
                at = (row, number, slot)
                found.dim[at], found.size[at] = problem.named.index(dim), size
                found.offset[at], found.spatial[at] = mapping.extent(m.offset), m.spatial
    return found


def mapping_of(problem: Problem, mappings: Mappings, row: int) -> Mapping:
    """One of many mappings by itself."""
    directives: list[Directive] = []
    for number in range(mappings.dim.shape[1]):
        if number:
            directives.append(Cluster(int(mappings.cluster[row, number - 1])))
        for slot in range(mappings.dim.shape[2]):
            at = (row, number, slot)
            if mappings.dim[at] >= 0:
                dim = problem.named[int(mappings.dim[at])]
                size, offset = int(mappings.size[at]), int(mappings.offset[at])
                directives.append(Map(dim, size, offset, bool(mappings.spatial[at])))
    return Mapping(problem, tuple(directives))
