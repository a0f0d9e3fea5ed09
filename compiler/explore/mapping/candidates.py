"""Candidates of a search as arrays, which mappers propose and cost models evaluate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from npuc.compiler.analysis.mapping.constraints.check import Bools, has_work
from npuc.compiler.analysis.mapping.convert import normal
from npuc.compiler.analysis.mapping.exact.arrays import Floats, Ints, LevelTiles, level_tiles
from npuc.compiler.explore.mapping.space import MapSpace
from npuc.dialects.mapping import ClusterLevel, Clusters, TileLoop


@dataclass(frozen=True)
class Candidates:
    """Mappings with equally many levels: the sub-clusters of each level, [level, mapping], and the levels."""

    fanouts: Ints
    levels: tuple[LevelTiles, ...]

    def __len__(self) -> int:
        return int(self.fanouts.shape[1])

    def part(self, rows: slice) -> Candidates:
        """Some of the mappings."""
        return Candidates(
            self.fanouts[:, rows],
            tuple(
                LevelTiles(one.temporal[:, rows], one.spatial[:, rows], one.order[:, rows], one.place[:, rows])
                for one in self.levels
            ),
        )

    def at(self, rows: Ints) -> Candidates:
        """The mappings with these numbers."""
        return Candidates(self.fanouts.take(rows, axis=1), tuple(one.at(rows) for one in self.levels))

    def mapping(self, row: int, dims: tuple[tuple[str, int], ...]) -> Clusters:
        """A mapping in cluster form, without loops of a single step."""
        levels: list[ClusterLevel] = []
        for number, one in enumerate(self.levels):
            loops = tuple(
                TileLoop(dims[at][0], int(one.temporal[at, row]), int(one.spatial[at, row]))
                for at in map(int, one.order[:, row])
            )
            levels.append(ClusterLevel(int(self.fanouts[number, row]), loops))
        return normal(Clusters(tuple(levels)), dict(dims))


def join(parts: Sequence[Candidates]) -> Candidates:
    """Candidates one after the other."""
    if len(parts) == 1:
        return parts[0]
    levels = zip(*(part.levels for part in parts), strict=True)
    return Candidates(
        np.concatenate([part.fanouts for part in parts], axis=1),
        tuple(
            LevelTiles(
                np.concatenate([one.temporal for one in same], axis=1),
                np.concatenate([one.spatial for one in same], axis=1),
                np.concatenate([one.order for one in same], axis=1),
                np.concatenate([one.place for one in same], axis=1),
            )
            for same in levels
        ),
    )


def working(space: MapSpace, candidates: Candidates) -> Candidates:
    """Those candidates that give enough elements work, as the constraints of the space demand."""
    fine = are_working(space, candidates)
    return candidates if fine.all() else candidates.at(np.flatnonzero(fine))


def are_working(space: MapSpace, candidates: Candidates) -> Bools:
    """Which candidates give enough elements work; all where nothing is demanded."""
    if space.constraints is None or not space.constraints.needs_work:
        return np.ones(len(candidates), bool)
    return has_work(space.constraints, candidates.fanouts, candidates.levels)


def smallest(space: MapSpace) -> Candidates:
    """The mapping with the smallest tiles, which spreads no dimension."""
    least = np.array([[1.0 if at in space.cut else float(size)] for at, (_, size) in enumerate(space.dims)])
    order = np.arange(len(space.dims))[:, None]
    return Candidates(
        np.array(space.fanouts[:1]).T, tuple(level_tiles(least, least, order) for _ in range(space.levels))
    )


class Mapper(Protocol):
    """
    A source of candidates of a space, which is told their costs.

    Its proposals depend on the space, the seed and the costs, but not on the number taken at a time.
    """

    def propose(self, most: int) -> Candidates | None:
        """The next candidates, at least one and at most so many; None when there are no more."""
        ...

    def tell(self, costs: Floats) -> None:
        """The costs of the candidates that were proposed last, in order; infinite for what does not fit."""
        ...


@runtime_checkable
class ProvingMapper(Mapper, Protocol):
    """A mapper that proves what no mapping of its space is below."""

    @property
    def bound(self) -> float:
        """The objective that no mapping of the space is below, as far as the search went."""
        ...


class Portions:
    """Blocks of candidates, in portions of what is asked for."""

    def __init__(self, blocks: Iterator[Candidates]):
        self._blocks = blocks
        self._block: Candidates | None = None
        self._next = 0

    def take(self, most: int) -> Candidates | None:
        """The next candidates, of one block; None after the last block."""
        if self._block is None or self._next == len(self._block):
            self._block, self._next = next(self._blocks, None), 0
            if self._block is None:
                return None
        start = self._next
        self._next = min(len(self._block), start + most)
        return self._block.part(slice(start, self._next))
