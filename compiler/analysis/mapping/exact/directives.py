"""
From directives to cluster form, for many mappings at once.

A map of Y or X whose windows are whole at its level takes as many outputs as windows fit into it, and its offset must
be that of as many windows; any other dimension is cut in tiles that lie side by side. Two spatial maps of a level are
one where Y and R (or X and S) go along together: the sub-clusters share the taps of the same outputs. What is not of
this kind, such as tiles that overlap or leave gaps, computes something several times or never, and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.batch.arrays import LevelArrays, Mappings
from npuc.compiler.analysis.mapping.exact.arrays import Floats, LevelTiles, level_tiles
from npuc.dialects.mapping import Problem
from npuc.dialects.mapping.problem import SLIDES

Bools = NDArray[np.bool_]


@dataclass
class _Level:
    """A level by dimension: what is written, what it is given (outputs along Y and X), and what is found."""

    problem: Problem
    number: int
    width: Floats
    size: Floats
    offset: Floats
    spatial: Bools
    given: Floats
    good: Bools

    def row(self, dim: str) -> int:
        return self.problem.named.index(dim)

    def plain(self) -> tuple[Floats, Floats]:
        """The temporal and spatial tiles of dimensions that are cut side by side."""
        one = self.size >= self.given
        part = np.minimum(self.size, self.given)
        step = np.where(self.spatial, np.minimum(self.size * self.width, self.given), part)
        self.good &= (one | (self.offset == self.size) | self._windows()).all(axis=0)
        return step, part

    def _windows(self) -> Bools:
        """Which rows are of Y and X, whose offsets are looked at by themselves."""
        found = np.zeros(self.size.shape, bool)
        if self.problem.slides:
            found[[self.row(dim) for dim in SLIDES]] = True
        return found

    def slide(self, dim: str, step: Floats, part: Floats) -> None:
        """Put the outputs of a map of Y or X into its tiles."""
        y, r, stride = self.row(dim), self.row(SLIDES[dim]), self.problem.stride[dim]
        taps, window = self.given[r], self.problem.sizes[SLIDES[dim]]
        together = self.spatial[y] & self.spatial[r]
        outputs: Floats = np.floor((self.size[y] - taps) / stride) + 1
        apart: Bools = self.offset[y] == outputs * stride
        if stride > 1:
            # Here MAESTRO has put the place of as many whole windows as were asked for in the offset.
            unit = window if self.number > 0 and window < stride else stride
            strided = (self.size[y] >= min(stride, window)) & (taps == window) & (self.offset[y] % unit == 0)
            strided &= self.size[y] == self.offset[y] / unit * min(stride, window) + max(window - stride, 0)
            outputs, apart = np.where(strided, self.offset[y] / unit, outputs), apart | strided
        count = np.minimum(np.maximum(outputs, 1), self.given[y])
        across = np.minimum(count * self.width, self.given[y])
        fine = (self.size[r] >= taps) & (outputs >= 1) & (apart | (outputs >= self.given[y]))
        part[y], step[y] = np.where(together, self.given[y], count), np.where(self.spatial[y], across, count)
        step[y] = np.where(together, self.given[y], step[y])
        self.good &= np.where(together, self._along(dim), fine)

    def _along(self, dim: str) -> Bools:
        """Whether Y and R go along together, in one fold each, and every sub-cluster sees all outputs."""
        y, r, stride = self.row(dim), self.row(SLIDES[dim]), self.problem.stride[dim]
        rows = (self.given[y] - 1) * stride + self.given[r]
        taps = np.minimum(self.size[r], self.given[r])
        once = self.size[r] + self.offset[r] * (self.width - 1) >= self.given[r]
        once &= self.size[y] + self.offset[y] * (self.width - 1) >= rows
        alike = (self.offset[y] == self.offset[r]) | (self.size[r] >= self.given[r])
        return once & alike & (np.floor((self.size[y] - taps) / stride) + 1 >= self.given[y])


def cluster_levels(problem: Problem, mappings: Mappings, levels: list[LevelArrays]) -> tuple[list[LevelTiles], Bools]:
    """The levels of mappings in cluster form, and which mappings have one; `levels` are what was read of them."""
    count = levels[0].dims.shape[1]
    given = np.repeat(np.array([[float(problem.outputs(d))] for d in problem.named]), count, axis=1)
    good = np.ones(count, bool)
    found: list[LevelTiles] = []
    for number, level in enumerate(levels):
        size, offset, spatial = (_by_dim(level, array) for array in (level.size, level.offset, level.spatial))
        own = _Level(problem, number, level.width, size, offset, spatial.astype(bool), given, good)
        own.good &= _pairs(problem, own)
        step, part = own.plain()
        if problem.slides:
            for dim in SLIDES:
                own.slide(dim, step, part)
        # What a level says nothing of is whole; MAESTRO would cut a strided map of the level above a second time.
        silent = ~(mappings.dim[:, number, :] == np.arange(len(step))[:, None, None]).any(axis=2)
        step, part = np.where(silent, given, step), np.where(silent, given, part)
        good, given = own.good, part
        found.append(level_tiles(step, part, level.dims))
    return found, good


def _by_dim(level: LevelArrays, array: Floats | Bools) -> Floats:
    found = np.empty(array.shape)
    np.put_along_axis(found, level.dims, array.astype(float), axis=0)
    return found


def _pairs(problem: Problem, level: _Level) -> Bools:
    """Whether two spatial maps go along together, or leave only the first sub-cluster with work."""
    two = level.spatial.sum(axis=0) > 1
    paired = np.zeros(len(two), bool)
    if problem.slides:
        for dim, window in SLIDES.items():
            paired |= level.spatial[level.row(dim)] & level.spatial[level.row(window)]
    return ~two | paired
