"""
From directives to cluster form, for many mappings at once; rules as in `convert`, which says in words what is wrong.

A map of Y or X takes as many outputs as windows fit into its rows, and its offset must be that of as many windows; any
other dimension is cut in tiles that lie side by side. Taps are cut where all rows are given, or together with the rows:
then two spatial maps of a level are one, whose sub-clusters share the taps of the same outputs. What is not of this
kind, such as tiles that overlap or leave gaps, computes something several times or never, and is left out.

A dimension that a level says nothing of is whole there. MAESTRO, and `convert` with it, cuts one whose stride is larger
than its window a second time; here it keeps the number of outputs that was written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from npuc.compiler.analysis.mapping.batch.arrays import Ints, LevelArrays, Mappings
from npuc.compiler.analysis.mapping.exact.arrays import Floats, LevelTiles, level_tiles
from npuc.compiler.analysis.mapping.walk import pace
from npuc.dialects.mapping import Problem
from npuc.dialects.mapping.problem import SLIDES

Bools = NDArray[np.bool_]
Kind = TypeVar("Kind", np.float64, np.bool_)


@dataclass(frozen=True)
class _Given:
    """
    What a level is given, by dimension: rows of Y and X as they lie in the input, and outputs along them.

    `spread`: all rows are given with a part of the taps.
    """

    rows: Floats
    outputs: Floats
    spread: Bools


@dataclass
class _Level:
    """The maps of a level by dimension, and of which mappings they are in order; `temporal`, `part` are the result."""

    problem: Problem
    width: Floats
    size: Floats
    offset: Floats
    spatial: Bools
    given: _Given
    good: Bools
    temporal: Floats
    part: Floats

    @property
    def moves(self) -> Bools:
        """Which dimensions have several tiles."""
        return self.size < self.given.rows

    def read(self) -> _Given:
        """Fill in the tiles; what the next level is given."""
        spread = self.given.spread.copy()
        slides = SLIDES if self.problem.slides else {}
        index = self.problem.named.index
        plain = np.ones(len(self.size), bool)
        plain[[index(dim) for pair in slides.items() for dim in pair]] = False
        self._cut(np.minimum(self.size, self.given.outputs))
        self.good &= (~self.moves | (self.size == self.offset) | ~plain[:, None]).all(axis=0)
        together = (self.spatial.sum(axis=0) > 1) & (self.width > 1) & (self.moves & self.spatial).any(axis=0)
        for dim, taps in slides.items():
            y, r = index(dim), index(taps)
            pair = together & self.moves[y] & self.moves[r] & self.spatial[y] & self.spatial[r]
            self._windows(y, r, pair, pace(self.problem, dim))
            spread[y] |= self._taps(y, r, pair, pace(self.problem, dim))
            together &= ~pair
        self.good &= ~together
        return _Given(np.minimum(self.size, self.given.rows), self.part, spread)

    def _cut(self, part: Floats, at: int | slice = slice(None)) -> None:
        """Tiles of so many, side by side on the sub-clusters where the map is spatial."""
        across = np.minimum(part * self.width, self.given.outputs[at])
        self.part[at], self.temporal[at] = part, np.where(self.spatial[at], across, part)

    def _windows(self, y: int, r: int, pair: Bools, apart: int) -> None:
        """The outputs of a map of Y, which is with R where `pair`."""
        whole = pair | ~self.moves[y]
        outputs: Floats = self.given.outputs[y]
        count: Floats = np.floor((self.size[y] - self.given.rows[r]) / apart) + 1
        fine = ~self.given.spread[y] & ~self.moves[r] & (count >= 1) & (self.offset[y] == count * apart)
        self.good &= whole | fine
        self._cut(np.where(whole, outputs, np.minimum(np.maximum(count, 1.0), outputs)), y)

    def _taps(self, y: int, r: int, pair: Bools, apart: int) -> Bools:
        """Check a map of R, which is with Y where `pair`; where it leaves all rows to each part of the taps."""
        outputs, size, offset = self.given.outputs[y], self.size, self.offset
        one = (size[r] == offset[y]) & (size[y] == (outputs - 1) * apart + size[r])
        one &= size[r] * self.width >= self.given.rows[r]
        alone = (outputs == self.problem.outputs(self.problem.named[y])) & ~self.moves[y]
        cut: Bools = self.moves[r]
        self.good &= ~cut | ((size[r] == offset[r]) & np.where(pair, one, alone))
        return cut & ~pair


def cluster_levels(problem: Problem, mappings: Mappings, levels: list[LevelArrays]) -> tuple[list[LevelTiles], Bools]:
    """The levels of mappings in cluster form, and which mappings have one; `levels` are what was read of them."""
    names, count = problem.named, len(mappings)
    outputs = np.repeat(np.array([[float(problem.outputs(d))] for d in names]), count, axis=1)
    rows, good = outputs.copy(), np.ones(count, bool)
    for dim, taps in SLIDES.items() if problem.slides else ():
        rows[names.index(dim)] = (problem.outputs(dim) - 1) * pace(problem, dim) + problem.sizes[taps]
    given = _Given(rows, outputs, np.zeros(rows.shape, bool))
    found: list[LevelTiles] = []
    for number, level in enumerate(levels):
        size, offset = _by_dim(level.dims, level.size), _by_dim(level.dims, level.offset)
        silent = ~(mappings.dim[:, number, :] == np.arange(len(names))[:, None, None]).any(axis=2)
        size = np.where(silent, given.rows, size)
        if number == 0:
            offset = _rows_apart(problem, size, offset)
        empty = np.empty_like(size)
        spatial = _by_dim(level.dims, level.spatial)
        own = _Level(problem, level.width, size, offset, spatial, given, good, empty, empty.copy())
        given, good = own.read(), own.good
        found.append(level_tiles(own.temporal, own.part, level.dims))
    return found, good


def _rows_apart(problem: Problem, size: Floats, offset: Floats) -> Floats:
    """Offsets of the top level without the rows between windows that none reads; inside MAESTRO leaves them out."""
    found = offset.copy()
    for dim, taps in SLIDES.items() if problem.slides else ():
        at = problem.named.index(dim)
        closer = offset[at] / problem.stride[dim] * pace(problem, dim)
        found[at] = np.where(size[at] >= problem.sizes[taps], closer, offset[at])
    return found


def _by_dim(dims: Ints, array: NDArray[Kind]) -> NDArray[Kind]:
    found = np.empty_like(array)
    np.put_along_axis(found, dims, array, axis=0)
    return found
